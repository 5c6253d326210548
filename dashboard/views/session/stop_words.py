"""Stop conditions in words. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....models.sessions.stop_conditions import (
    AllOf,
    AnyOf,
    Condition,
    Converged,
    CostBudget,
    Deadline,
    MaxRounds,
    MaxTurns,
    RoundOfPasses,
    TextSeen,
    TokenBudget,
)
from ....models.text.words import count_of
from ..texts import sentence_duration

#: Kind of condition without parts -> its words.
_WORDS: dict[type[Condition], Callable[[Any], str]] = {
    MaxTurns: lambda stop: f"after {count_of(stop.turns, 'turn', spec=',')}",
    MaxRounds: lambda stop: f"after {count_of(stop.rounds, 'round', spec=',')}",
    TokenBudget: lambda stop: f"after {count_of(stop.tokens, 'token', spec=',')}",
    CostBudget: lambda stop: f"at ${stop.usd:,.2f}",
    Deadline: lambda stop: f"after {sentence_duration(1000 * stop.seconds)}",
    TextSeen: lambda stop: f"when {stop.by or 'a participant'} says “{stop.text}”",
    RoundOfPasses: lambda _: "when all pass",
    Converged: lambda stop: f"when {', '.join(stop.experts)} agree",
}


def stop_in_words(stop: Condition | None) -> str:
    """Return when a session ends, such as `after 40 rounds or at $5.00`; empty: no condition ends it."""
    if isinstance(stop, AnyOf | AllOf):
        parts = [
            f"({words})" if isinstance(part, AnyOf | AllOf) else words
            for part in stop.conditions
            if (words := stop_in_words(part))
        ]
        return (" or " if isinstance(stop, AnyOf) else " and ").join(parts)
    return "" if stop is None else _WORDS[type(stop)](stop)
