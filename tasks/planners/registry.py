"""The five modes by name: how each plans, and what ends it when the user says nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...models.collab import CollabMode
from ...models.plan import BoardEntry, Plan, SessionView
from ...models.stop import RoundOfPasses, StopCondition
from . import broadcast, orchestrated, pair, round_robin, swarm

Planner = Callable[[SessionView], Plan]


class _Mode(NamedTuple):
    plan: Planner
    default_stop: StopCondition


_MODES = {
    CollabMode.ROUND_ROBIN: _Mode(round_robin.plan, round_robin.DEFAULT_STOP),
    CollabMode.ORCHESTRATED: _Mode(orchestrated.plan, orchestrated.DEFAULT_STOP),
    CollabMode.PAIR: _Mode(pair.plan, pair.DEFAULT_STOP),
    CollabMode.BROADCAST: _Mode(broadcast.plan, broadcast.DEFAULT_STOP),
    CollabMode.SWARM: _Mode(swarm.plan, swarm.DEFAULT_STOP),
}


def planner_for(mode: CollabMode) -> Planner:
    """The pure function that plans this mode."""
    return _MODES[mode].plan


def effective_stop(mode: CollabMode, stop: StopCondition | None) -> StopCondition:
    """The condition a session runs with: the user's, or the mode's default.

    In every mode with rounds, a full round of passes ends the session, too: whoever passes
    would pass again, for ever.
    """
    chosen = stop or _MODES[mode].default_stop
    return chosen if mode is CollabMode.SWARM else chosen | RoundOfPasses()


def board_at_end(view: SessionView, why: str) -> tuple[BoardEntry, ...]:
    """What becomes of the work items when something else than the planner ends the session."""
    return swarm.board_at_end(view, why) if view.mode is CollabMode.SWARM else ()
