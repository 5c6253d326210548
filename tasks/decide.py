"""What happens next in a session: failure, stop conditions, planner, in this order. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import JsonValue

from ..models.plan import Finish, OpenTurn, Plan, RefusedHandOff, SessionView, Step, Wait
from ..models.stop import StopCondition, StopReason
from ..models.turn import OutcomeKind
from .planners import board_at_end, check_step, judge_hand_offs, planner_for

_REQUESTED = StopReason(code="stop_requested", detail="a stop was asked for")


@dataclass(frozen=True, slots=True)
class Decided:
    """A plan, and what the stop conditions remember once it is written."""

    plan: Plan
    #: With a `Wait` as it was: the turns that have closed are shown again.
    stop_state: dict[str, JsonValue]
    #: Hand-offs that the mode does not take; with a `Wait` none, since their turns are shown again.
    refused: tuple[RefusedHandOff, ...] = ()


def decide(
    view: SessionView,
    stop: StopCondition,
    stop_state: dict[str, JsonValue],
    *,
    stop_requested: bool = False,
    exhausted: StopReason | None = None,
) -> Decided:
    """Answers a view with a plan.

    A turn that failed for good aborts the session. A stop that is met lets the open turns
    close first, because their work is paid for; a deadline doesn't. Turns that only wait for somebody's
    answer keep no stop waiting, and turns that have not begun none for want of means (`exhausted` is such a stop,
    met by a turn that can never begin). If the session then ends by itself in the same instant (approved,
    satisfied, board empty), that is the reason given.

    However a session ends, it is completed only if somebody answered a turn: said something, decided, or
    passed on purpose.
    """
    view, refused = judge_hand_offs(view)
    observed = stop.observe(stop_state, view.results, roster_size=len(view.roster))
    view = replace(view, turns_left=_turns_left(view, stop))
    plan = (
        _failure(view)
        or _stopped(view, stop.reason(observed, view.totals) or exhausted, stop_requested)
        or _planned(view)
    )
    if isinstance(plan, Finish) and not plan.aborted:
        plan = _completed(view, plan)
    if isinstance(plan, Wait):
        return Decided(plan=plan, stop_state=stop_state)
    return Decided(plan=plan, stop_state=observed, refused=refused)


def _turns_left(view: SessionView, stop: StopCondition) -> int | None:
    left = stop.turns_left(view.totals)
    return None if left is None else max(0, left - len(view.open))


def _failure(view: SessionView) -> Finish | None:
    for result in view.results:
        if result.kind is OutcomeKind.FAILED:
            detail = f"{result.participant}: {result.error or 'failed'}"
            return Finish(reason="failed", detail=detail, aborted=True, board=board_at_end(view, "failed"))
    return None


def _stopped(view: SessionView, met: StopReason | None, requested: bool) -> Plan | None:
    reason = _REQUESTED if requested and not (met and met.urgent) else met
    if reason is None:
        return None
    if any(_is_waited_for(turn, reason) for turn in view.open):
        return Wait()
    own_end = None if view.open else planner_for(view.mode)(view)
    if isinstance(own_end, Finish):
        return own_end
    return Finish(reason=reason.code, detail=reason.detail, board=board_at_end(view, reason.code))


def _completed(view: SessionView, end: Finish) -> Finish:
    """The end as it is if somebody answered a turn; otherwise the session is cancelled, and says why."""
    turns = view.totals.turns
    if not turns and end.reason != _REQUESTED.code:
        detail = ", ".join(filter(None, [end.detail, "before any turn was completed"]))
        return end.model_copy(update={"aborted": True, "detail": detail})
    if not turns or view.totals.skipped < turns:
        return end
    detail = f"{turns} of {turns} turns failed or were skipped"
    if view.results:
        last = view.results[-1]
        detail += f", the last one: {last.participant}: {last.error or last.kind.value}"
    detail += f"; {end.reason}: {end.detail}" if end.detail else f"; {end.reason}"
    return end.model_copy(update={"reason": "all_turns_failed", "detail": detail, "aborted": True})


def _is_waited_for(turn: OpenTurn, reason: StopReason) -> bool:
    return not (reason.urgent or turn.parked or (reason.broke and turn.unbegun))


def _planned(view: SessionView) -> Plan:
    plan = planner_for(view.mode)(view)
    if isinstance(plan, Step):
        check_step(view, plan)
    return plan
