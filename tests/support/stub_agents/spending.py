"""Agents whose turns cost something."""

from __future__ import annotations

from pathlib import Path

from live import until
from symposia.models.turns.turn import TurnContext, TurnOutcome, Usage


def spender(turn: TurnContext) -> TurnOutcome:
    """Print its reservation, and spend what its parameters say."""
    tokens = turn.parameters.get("tokens", 0)
    assert isinstance(tokens, int)
    gate = turn.parameters.get("gate")
    if isinstance(gate, str) and not (turn.parameters.get("takeover_passes") and turn.attempt > 1):
        until(Path(gate).exists, timeout_s=60, what="the gate is open")
    if turn.attempt <= turn.parameters.get("fails", 0):  # type: ignore[operator]
        raise RuntimeError("no mood")
    said = f"{turn.remaining.tokens} tokens are mine"
    return TurnOutcome.say(said, usage=Usage(output_tokens=tokens, requests=1))


def asker(turn: TurnContext) -> TurnOutcome:
    """Ask a person, and repeat the answer."""
    if not turn.answers:
        return TurnOutcome.ask(str(turn.parameters["ask"]), "may I?")
    return TurnOutcome.say(turn.answers[0].text or "nobody answered")
