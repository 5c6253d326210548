"""Callables that guards in tests name."""

from __future__ import annotations

import asyncio

from symposia.models.turns.turn import TurnContext, TurnOutcome


def polite(turn: TurnContext, outcome: TurnOutcome | None) -> str | None:
    said = "".join(draft.content for draft in outcome.messages) if outcome else ""
    return None if "please" in said else "must say please"


async def polite_later(turn: TurnContext, outcome: TurnOutcome | None) -> str | None:
    await asyncio.sleep(0)
    return polite(turn, outcome)


def broken(turn: TurnContext, outcome: TurnOutcome | None) -> str | None:
    raise LookupError("the list is missing")


def yes(turn: TurnContext, outcome: TurnOutcome | None) -> bool:
    return True


def first_turn(turn: TurnContext, outcome: TurnOutcome | None) -> str | None:
    return "must not begin" if turn.turn_number == 1 else None


def corrects(turn: TurnContext) -> str:
    """Agent: says please once it is told to."""
    return "the door, please" if "must say please" in turn.instruction else "the door"
