"""Agents that write down every call, for sessions on real workers. What they need comes as parameters."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import symposia
from scaling import patient
from symposia.models.turns.items import NewItem
from symposia.models.turns.turn import Decision, Expects, TurnContext, TurnOutcome


def note(turn: TurnContext, **more: Any) -> None:
    """One line a call; O_APPEND keeps lines of several processes apart."""
    log = turn.parameters.get("log")
    if not isinstance(log, str):
        return
    line = {
        "session": turn.session_id,
        "turn": turn.turn_number,
        "me": turn.me.participant_id,
        "attempt": turn.attempt,
        "seen": [message.content for message in turn.messages],
        "instruction": turn.instruction,
        "expects": turn.expects,
        "item": turn.item.text if turn.item else None,
        "ledger": turn.ledger and turn.ledger.model_dump(mode="json"),
        "pid": os.getpid(),
        "code": str(Path(symposia.__file__).parents[1]),
        **more,
    }
    with Path(log).open("a") as file:
        file.write(json.dumps(line) + "\n")


def say(turn: TurnContext) -> str:
    note(turn)
    return f"{turn.me.participant_id} speaks in turn {turn.turn_number}"


def gated(turn: TurnContext) -> str:
    """Speaks once the gate file is there; waits a minute at most. Only the turn named, or every turn."""
    note(turn)
    gate, only = turn.parameters.get("gate"), turn.parameters.get("gate_turn")
    if isinstance(gate, str) and only in (None, turn.turn_number):
        wait_for_any(Path(gate))
    return f"{turn.me.participant_id} speaks in turn {turn.turn_number}"


def stepped(turn: TurnContext) -> str | TurnOutcome:
    """Answers as its mode needs, once the gate file or that of its turn (`<gate>.<turn>`) is there."""
    gate = turn.parameters["gate"]
    wait_for_any(Path(f"{gate}.{turn.turn_number}"), Path(str(gate)))
    if turn.expects is Expects.DECISION:
        return lead(turn)
    if turn.expects is Expects.REVIEW:
        return navigator(turn)
    return say(turn) if turn.item is None else claimer(turn)


def talks(turn: TurnContext) -> Iterator[str]:
    """Writes a word every 50 ms until the gate file is there. The first `quiet` turns end at once, the last one when stepped."""
    yield f"**{turn.me.participant_id}** speaks in turn {turn.turn_number}."
    gate, quiet = Path(str(turn.parameters["gate"])), turn.parameters["quiet"]
    if turn.turn_number == quiet:
        wait_for_any(Path(f"{gate}.{quiet}"), gate)
    deadline = time.monotonic() + patient(60)
    while turn.turn_number > quiet and not gate.exists() and time.monotonic() < deadline:
        yield " Another word."
        time.sleep(0.05)


def wait_for_any(*files: Path) -> None:
    deadline = time.monotonic() + patient(60)
    while not any(it.exists() for it in files) and time.monotonic() < deadline:
        time.sleep(0.02)


def moody(turn: TurnContext) -> str:
    """Fails the first `fails` attempts of each turn."""
    note(turn)
    fails = turn.parameters.get("fails", 0)
    if isinstance(fails, int) and turn.attempt <= fails:
        raise RuntimeError(f"mood {turn.attempt}")
    return f"{turn.me.participant_id} speaks in turn {turn.turn_number}"


def unspeakable(turn: TurnContext) -> str:
    """Raises with text that UTF-8 cannot carry."""
    note(turn)
    raise RuntimeError("a name like \udcff")


def misshapen(turn: TurnContext) -> TurnOutcome:
    """Answers with an outcome that was never validated."""
    note(turn)
    return TurnOutcome.say("fine").model_copy(update={"items": ("text",), "hand_off": "\udcff"})


def lead(turn: TurnContext) -> TurnOutcome:
    """An orchestrator: coder, then tester and writer in parallel, then satisfied."""
    note(turn)
    said = sum(1 for message in turn.messages if message.author == turn.me.participant_id)
    decisions = (
        Decision(next=("coder",), instruction="write it"),
        Decision(
            next=("tester", "writer"),
            side_by_side=True,
            instructions={"tester": "break it"},
            instruction="tell it",
        ),
        Decision(satisfied=True, reason="all is well"),
    )
    outcome = TurnOutcome.say(f"decision {said + 1}")
    return outcome.model_copy(update={"decision": decisions[min(said, 2)]})


def navigator(turn: TurnContext) -> TurnOutcome:
    """Approves the second revision."""
    note(turn)
    said = sum(1 for message in turn.messages if message.author == turn.me.participant_id)
    outcome = TurnOutcome.say("looks good" if said else "once more")
    return outcome.model_copy(update={"decision": Decision(satisfied=bool(said))})


def claimer(turn: TurnContext) -> TurnOutcome:
    """Works on an item; the item `plan` brings two more, one of them for the tester."""
    note(turn)
    text = turn.item.text if turn.item else "?"
    items = (NewItem(text="build"), NewItem(text="test", role="tester")) if text == "plan" else ()
    return TurnOutcome.say(f"{text} done").model_copy(update={"items": items})


def counter(turn: TurnContext) -> TurnOutcome:
    """Adds the number of its item to the outputs of the results that it is given; `data.add` is a list of new items."""
    note(
        turn,
        results={it.item_id: it.output for it in turn.item_results},
        turn_item=turn.item and turn.item.item_id,
    )
    data = turn.item.data if turn.item and isinstance(turn.item.data, dict) else {}
    if data.get("fails"):
        raise RuntimeError("cannot count")
    total = sum(it.output for it in turn.item_results if isinstance(it.output, int)) + data.get("n", 0)
    items = tuple(NewItem(**it) for it in data.get("add", ()))
    return TurnOutcome.say(f"total {total}").model_copy(update={"output": total, "items": items})
