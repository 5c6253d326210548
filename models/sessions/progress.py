"""Progress of a session towards its limits, and its estimated end. Pure.

Only limits that somebody set are counted: every session also has a safety cap (`SYMPOSIA_MAX_TURNS`), which is no total.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..text.json_text import parse_json
from ..text.words import count_of, dollars, short_duration
from .plan import Totals
from .stop_conditions import AnyOf, MaxTurns, StopCondition

Unit: TypeAlias = Literal["rounds", "turns", "items", "tokens", "cost_micros", "seconds"]

#: A limit of this many turns and more is a safety cap: the default of `SYMPOSIA_MAX_TURNS`, and of a swarm.
_FAR_TURNS = 10_000
#: Longest estimated rest, in milliseconds: a later end is not known.
_MAX_REST_MS = 30 * 86_400_000


@dataclass(frozen=True, slots=True)
class LimitUse:
    """A limit of a session, and how much of it is used."""

    unit: Unit
    used: float
    limit: float

    @property
    def share(self) -> float:
        """Used part; 1 at the limit."""
        return self.used / self.limit


def describe_limit(use: LimitUse) -> str:
    """Return how much of a limit is used, such as `7 of 40 rounds` or `$4.60 of $5.00`."""
    if use.unit == "cost_micros":
        return f"{dollars(use.used)} of {dollars(use.limit)}"
    if use.unit == "seconds":
        return f"{short_duration(use.used * 1000)} of {short_duration(use.limit * 1000)}"
    return f"{use.used:,.0f} of {count_of(round(use.limit), use.unit.removesuffix('s'), spec=',')}"


def without_safety_cap(stop: StopCondition) -> StopCondition | None:
    """Return the stop condition without the maximum of turns that every session gets; None: nothing is left.

    It is the last part of an `|`; in a fork also the last part of what was taken over.
    """
    if not isinstance(stop, AnyOf) or not isinstance(cap := stop.conditions[-1], MaxTurns):
        return stop
    parts = tuple(part for part in stop.conditions if part != cap)
    return AnyOf(conditions=parts) if parts else None


def limits_in_use(
    stop: StopCondition | None, totals: Totals, *, items: tuple[int, int] | None = None
) -> tuple[LimitUse, ...]:
    """Return the limits of a session, without safety caps.

    Args:
        stop: Its stop condition; None: unknown.
        totals: Its counters.
        items: Closed items of its board, and all; None: it has no board.
    """
    chosen = None if stop is None else without_safety_cap(stop)
    limits = None if chosen is None else chosen.remaining(Totals())
    uses = [LimitUse("items", *items)] if items and items[1] else []
    if limits is None:
        return tuple(uses)
    usage = totals.usage
    amounts: tuple[tuple[Unit, float, float | None], ...] = (
        ("rounds", totals.rounds, limits.rounds),
        ("turns", totals.turns, None if (limits.turns or 0) >= _FAR_TURNS else limits.turns),
        ("tokens", usage.tokens, limits.tokens),
        ("cost_micros", usage.cost_micros, limits.cost_micros),
        ("seconds", round(totals.elapsed_s, 1), limits.seconds),
    )
    uses += [LimitUse(unit, used, limit) for unit, used, limit in amounts if limit]
    return tuple(uses)


def first_limit(uses: Sequence[LimitUse]) -> LimitUse | None:
    """Return the limit that is reached first at the rate so far: that with the greatest used part."""
    return max(uses, key=lambda use: use.share, default=None)


def estimated_end_ms(uses: Sequence[LimitUse], *, started_ms: int, now_ms: int) -> int | None:
    """Return the time at which the first limit is reached at the rate so far, in milliseconds since the epoch.

    None: unknown, because nothing limits the session, nothing is used yet, or the time is more than 30 days away.
    """
    first = first_limit(uses)
    elapsed_ms = now_ms - started_ms
    if first is None or elapsed_ms <= 0 or not 0 < first.share < 1:
        return None
    rest_ms = elapsed_ms * (1 - first.share) / first.share
    return None if rest_ms > _MAX_REST_MS else round(now_ms + rest_ms)


def board_items(planner: str) -> tuple[int, int] | None:
    """Return the closed items and all items of a board, from the state of a swarm's planner; None: no board yet."""
    board = parse_json(planner).get("board")
    if not isinstance(board, dict):
        return None
    taken = int(board.get("taken", 0))
    return min(taken, int(board.get("done", 0)) + int(board.get("dropped", 0))), taken
