"""The five modes by name: how each plans, and what ends it when the user says nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ...models.collab import CollabMode
from ...models.plan import BoardEntry, Plan, RefusedHandOff, SessionView
from ...models.stop import RoundOfPasses, StopCondition
from . import broadcast, orchestrated, pair, round_robin, swarm
from .hand_offs import Refuses, any_hand_off, judge

Planner = Callable[[SessionView], Plan]


class _Mode(NamedTuple):
    plan: Planner
    default_stop: StopCondition
    #: Which hand-offs are refused; None: the planner takes them all as they are.
    refuses: Refuses | None = any_hand_off


_MODES = {
    CollabMode.ROUND_ROBIN: _Mode(round_robin.plan, round_robin.DEFAULT_STOP, round_robin.refuses),
    CollabMode.ORCHESTRATED: _Mode(orchestrated.plan, orchestrated.DEFAULT_STOP, orchestrated.refuses),
    CollabMode.PAIR: _Mode(pair.plan, pair.DEFAULT_STOP),
    CollabMode.BROADCAST: _Mode(broadcast.plan, broadcast.DEFAULT_STOP),
    CollabMode.SWARM: _Mode(swarm.plan, swarm.DEFAULT_STOP, refuses=None),
}


def planner_for(mode: CollabMode) -> Planner:
    """The pure function that plans this mode."""
    return _MODES[mode].plan


def judge_hand_offs(view: SessionView) -> tuple[SessionView, tuple[RefusedHandOff, ...]]:
    """Return the view with the hand-offs that the mode takes, by participant id, and those that it refuses."""
    refuses = _MODES[view.mode].refuses
    if refuses is None or all(result.hand_off is None for result in view.results):
        return view, ()
    results, refused = judge(view, refuses)
    return replace(view, results=results), refused


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
