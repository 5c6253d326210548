"""Agents whose texts are markup, scripts, links, terminal escapes and controls of the writing direction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from symposia.models.memory.learned import Learned
from symposia.models.turns.turn import Decision, TurnContext, TurnOutcome

MARKUP = '<img src=x onerror="pwned=1"><script>pwned=1</script>'
TEXT = f"{MARKUP} [a](javascript:pwned=1) \x1b[31m \u202egnp"
#: Markdown whose image would be loaded from another host.
MESSAGE = f"""{TEXT}

![picture](http://evil.example/picture.png) [b](data:text/html,{MARKUP}) <http://evil.example>

| {TEXT} |
|---|
| {TEXT} |
"""


def say(turn: TurnContext) -> str:
    return _text(turn, MESSAGE)


def fail(turn: TurnContext) -> str:
    raise RuntimeError(_text(turn, TEXT))


def ask(turn: TurnContext) -> TurnOutcome:
    """Ask ben, and repeat the answer."""
    if turn.answers:
        return TurnOutcome.say(turn.answers[-1].text)
    return TurnOutcome.ask("ben", _text(turn, TEXT), choices=(TEXT, "no"))


def _text(turn: TurnContext, default: str) -> str:
    """The text that the session gives its agents."""
    text = turn.parameters.get("text", default)
    return str(text)


def lead(turn: TurnContext) -> TurnOutcome:
    """An orchestrator: the first participant, then satisfied."""
    has_spoken = any(message.speaker == turn.me.participant_id for message in turn.messages)
    decision = (
        Decision(satisfied=True, reason=TEXT) if has_spoken else Decision(next=("coder",), instruction=TEXT)
    )
    return TurnOutcome.say(MESSAGE).model_copy(update={"decision": decision})


def expert(_turn: TurnContext) -> str:
    return f"[TENSION T01: {MARKUP} \u202egnp]\n\n{TEXT}"


def learn(_turn: TurnContext) -> TurnOutcome:
    learned = Learned(service="search", parameters={"query": TEXT})
    return TurnOutcome.say(MESSAGE).model_copy(update={"learned": learned})


def review(turn: TurnContext) -> str:
    """One finding; fails for a path with `bad` in it while the file `fixed` is not there."""
    review: Any = turn.parameters["review"]
    if "bad" in review["path"] and not Path("fixed").exists():
        raise RuntimeError(TEXT)
    finding = {"line": 1, "rule": TEXT, "severity": "high", "message": TEXT, "suggestion": TEXT}
    return json.dumps({"findings": [finding], "summary": TEXT})
