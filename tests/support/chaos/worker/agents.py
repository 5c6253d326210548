"""Agents that write down every call, and agents that misbehave. What they need comes as parameters.

A call is noted before anything is said, so whatever stands in a dialog can be held against the
notes; its `nonce` is in the text.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path
from uuid import uuid4

from scaling import patient
from symposia import Attachment
from symposia.models.turns.items import NewItem
from symposia.models.turns.turn import Decision, DraftMessage, TurnContext, TurnOutcome, Usage

REGISTRY = "".join(
    f'[agents.{name}]\nkind = "python"\ncallable = "chaos.worker.agents:{name}"\nwindow = 1000\n'
    for name in ("say", "lead", "navigator", "claimer", "moody", "gated", "clerk", "artist", "guarded")
)
REGISTRY += """guards = ["corrected", "approved"]

[guards.corrected]
kind = "pattern"
require = "corrected"
then = "ask_again"

[guards.approved]
kind = "deny"
words = ["corrected"]
then = "park"
to = "ben"
"""


def _said(turn: TurnContext) -> TurnOutcome:
    """Notes the call, thinks for a moment, and speaks."""
    nonce = uuid4().hex
    usage = Usage(input_tokens=random.randrange(50), output_tokens=random.randrange(50), requests=1)
    usage = usage.model_copy(update={"cost_micros": random.randrange(100)})
    line = {
        "session": turn.session_id,
        "turn": turn.turn_number,
        "participant": turn.me.participant_id,
        "nonce": nonce,
        "seen": [message.turn_number for message in turn.messages if message.turn_number],
        "item": turn.item.text if turn.item else None,
        "effect": turn.effect_id,
        "usage": usage.model_dump(),
        "pid": os.getpid(),
    }
    with Path(str(turn.parameters["log"])).open("a") as file:
        file.write(json.dumps(line) + "\n")  # O_APPEND keeps the lines of several processes apart
    think_ms = turn.parameters.get("think_ms", 0)
    if isinstance(think_ms, int | float) and think_ms:
        time.sleep(random.uniform(0, 2 * think_ms) / 1000)
    return TurnOutcome.say(f"turn {turn.turn_number}, {turn.me.participant_id}, [{nonce}]", usage=usage)


def _times_spoken(turn: TurnContext) -> int:
    return sum(1 for message in turn.messages if message.speaker == turn.me.participant_id)


def say(turn: TurnContext) -> TurnOutcome:
    """Speaks."""
    return _said(turn)


def gated(turn: TurnContext) -> TurnOutcome:
    """Speaks when the gate file is there; waits a minute at most."""
    outcome = _said(turn)
    deadline = time.monotonic() + patient(60)
    while not Path(str(turn.parameters["gate"])).exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return outcome


def lead(turn: TurnContext) -> TurnOutcome:
    """An orchestrator: coder, then tester and writer in parallel, then satisfied."""
    decisions = (
        Decision(next=("coder",), instruction="write it"),
        Decision(next=("tester", "writer"), side_by_side=True, instruction="read it"),
        Decision(satisfied=True, reason="all is well"),
    )
    return _said(turn).model_copy(update={"decision": decisions[min(_times_spoken(turn), 2)]})


def navigator(turn: TurnContext) -> TurnOutcome:
    """Approves what it sees for the third time."""
    return _said(turn).model_copy(update={"decision": Decision(satisfied=_times_spoken(turn) >= 2)})


def clerk(turn: TurnContext) -> TurnOutcome:
    """Gives the required output only when it is asked again."""
    said = _said(turn)
    again = turn.output_schema is not None and "is not valid" in turn.instruction
    return said.model_copy(update={"output": {"nonce": said.messages[0].content}}) if again else said


def artist(turn: TurnContext) -> TurnOutcome:
    """Speaks with a file, which holds the text of the message."""
    said = _said(turn)
    draft = said.messages[0]
    file = Attachment.of("picture.bin", f"{draft.content}\x00" * 1_000)
    return said.model_copy(update={"messages": (draft.model_copy(update={"attachments": (file,)}),)})


def guarded(turn: TurnContext) -> TurnOutcome:
    """Corrects its text only when a guard has refused it."""
    said = _said(turn)
    if "was refused by the check" not in turn.instruction:
        return said
    text = f"{said.messages[0].content} corrected"
    return said.model_copy(update={"messages": (DraftMessage(content=text),)})


def claimer(turn: TurnContext) -> TurnOutcome:
    """Works on an item; the item `plan` brings two more, one of them for the tester."""
    text = turn.item.text if turn.item else "?"
    items = (NewItem(text="build"), NewItem(text="test", role="tester")) if text == "plan" else ()
    return _said(turn).model_copy(update={"items": items})


def moody(turn: TurnContext) -> object:
    """Misbehave as the parameter `mood` requests."""
    _said(turn)
    return MOODS[str(turn.parameters["mood"])]()


def _raises() -> object:
    raise RuntimeError("a bad day")


def _hangs() -> object:
    time.sleep(6)
    return "too late"


def _closes_stdout() -> object:
    sys.stdout.close()
    print("nobody hears this")  # noqa: T201 - that is the point
    return ""


def _forks() -> object:
    if os.fork() == 0:
        os._exit(0)
    os.wait()
    return 42


MOODS = {
    "raises": _raises,
    "hangs": _hangs,
    "returns rubbish": lambda: {"messages": object()},
    "returns 50 MB": lambda: "x" * 50_000_000,
    "closes stdout": _closes_stdout,
    "forks": _forks,
    "exits": lambda: sys.exit(3),
}
