"""How a session ends, in words. Budgets and deadlines are not told."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ...sessions.stop_conditions import (
    AllOf,
    AnyOf,
    Converged,
    MaxRounds,
    MaxTurns,
    RoundOfPasses,
    StopCondition,
    TextSeen,
)
from ...text.tags import clean_line
from ...text.words import count_of

#: A limit of so many turns guards against an endless session, and tells a model nothing.
_GUARD_TURNS = 1_000
#: Maximum characters of a text that ends a session.
_MAX_TEXT = 100


@lru_cache(maxsize=1_024)
def describe_ending(stop: StopCondition, *further: str) -> str:
    """Return how a session ends, such as `after 3 rounds or when everybody has answered PASS`; empty: nothing is told.

    Args:
        stop: Stop conditions of the session.
        further: Ends of the mode, in words.
    """
    phrases = sorted(_phrases(stop))
    last = [text for rank, text in phrases if rank >= _CONVERGED]
    first = [text for rank, text in phrases if rank < _CONVERGED]
    return " or ".join(dict.fromkeys([*first, *filter(None, further), *last]))


_CONVERGED = 9


def _phrases(stop: StopCondition) -> Iterator[tuple[int, str]]:
    match stop:
        case AnyOf(conditions):
            for part in conditions:
                yield from _phrases(part)
        case AllOf(conditions):
            parts = [list(_phrases(part)) for part in conditions]
            if all(parts):  # a part that is not told would make the rest false
                joined = " and ".join(" or ".join(text for _, text in part) for part in parts)
                yield min(rank for part in parts for rank, _ in part), joined
        case MaxRounds(rounds):
            yield 1, f"after {count_of(rounds, 'round')}"
        case MaxTurns(turns) if turns < _GUARD_TURNS:
            yield 2, f"after {count_of(turns, 'turn')}"
        case RoundOfPasses():
            yield 3, "when everybody has answered PASS"
        case TextSeen(text, by):
            who = "somebody" if by is None else clean_line(by, _MAX_TEXT)
            yield 4, f"when {who} writes {clean_line(text, _MAX_TEXT)} on a line of its own"
        case Converged():
            yield _CONVERGED, "when the panel has converged"
        case _:
            return
