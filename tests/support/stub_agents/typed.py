"""Agents of sessions with a required output; they write down every call."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel

from stub_agents.live import note, wait_for_any
from symposia.models.turns.turn import Decision, Expects, TurnContext, TurnOutcome


class Report(BaseModel):
    """The output of the tests' sessions."""

    title: str
    findings: list[str] = []


GOOD = {"title": "Lamps", "findings": ["too dim"]}


def reporter(turn: TurnContext) -> str | Report:
    """Talks, and returns a model where the output is required."""
    note(turn, required=turn.output_schema is not None)
    return Report.model_validate(GOOD) if turn.output_schema else f"{turn.me.participant_id} talks"


def writer(turn: TurnContext) -> str:
    """Talks, and writes JSON in a block of code where the output is required."""
    note(turn, required=turn.output_schema is not None)
    return f"Here it is:\n```json\n{json.dumps(GOOD, indent=2)}\n```" if turn.output_schema else "hm"


def clumsy(turn: TurnContext) -> str | dict[str, object]:
    """Gives a valid output only when it is asked again."""
    note(turn, required=turn.output_schema is not None)
    if turn.output_schema is None:
        return "hm"
    return dict(GOOD) if "is not valid" in turn.instruction else {"title": 7}


def hopeless(turn: TurnContext) -> str:
    """Never gives a valid output."""
    note(turn, required=turn.output_schema is not None)
    return f"I would rather not, says {turn.me.participant_id}"


def finisher(turn: TurnContext) -> TurnOutcome | str:
    """Orchestrator or navigator that ends the session in its second turn, with the output."""
    note(turn, required=turn.output_schema is not None)
    spoken = {message.speaker for message in turn.messages}
    if turn.expects is Expects.MESSAGE:
        return "no"
    done = turn.me.participant_id in spoken
    to = next(p.participant_id for p in turn.roster if p != turn.me)
    decision = Decision(satisfied=done, next=() if done else (to,), reason="enough" if done else "")
    said = TurnOutcome.say("We are done." if done else f"Go on, {to}.")
    return said.model_copy(update={"decision": decision, "output": GOOD if done else None})


def quitter(turn: TurnContext) -> TurnOutcome | Report:
    """As `finisher`, but its end carries no output: it gives it in the closing turn."""
    if turn.output_schema is not None:
        return reporter(turn)  # type: ignore[return-value]
    outcome = finisher(turn)
    assert isinstance(outcome, TurnOutcome)
    return outcome.model_copy(update={"output": None})


def stuck(turn: TurnContext) -> str | dict[str, object]:
    """Gives a valid output when it is asked again, once the gate file is there."""
    note(turn)
    if "is not valid" not in turn.instruction:
        return "hm"
    wait_for_any(Path(str(turn.parameters["gate"])))
    return dict(GOOD)
