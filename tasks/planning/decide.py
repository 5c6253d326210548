"""Decision about the next step of a session: failure, stop conditions, planner, in this order. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from pydantic import JsonValue

from ...models.modes import check_step, judge_hand_offs, mode_of
from ...models.outputs import RequiredOutput
from ...models.sessions.plan import Finish, OpenTurn, Plan, RefusedHandOff, SessionView, Step, Wait
from ...models.sessions.stop_conditions import StopCondition, StopReason
from ...models.turns.turn import OutcomeKind
from .closing import end_after_closing_turn, require_output

_REQUESTED = StopReason(code="stop_requested", detail="stop requested")


@dataclass(frozen=True, slots=True)
class PlanDecision:
    """A plan, and the state of the stop conditions after it is written."""

    plan: Plan
    #: State of the stop conditions; unchanged with a `Wait`, which passes the closed turns again to the next
    #: call.
    stop_state: dict[str, JsonValue]
    #: Hand-offs that the mode refuses; none with a `Wait`, which passes their turns again to the next call.
    refused: tuple[RefusedHandOff, ...] = ()


def decide(
    view: SessionView,
    stop: StopCondition,
    stop_state: dict[str, JsonValue],
    *,
    stop_requested: bool = False,
    exhausted: StopReason | None = None,
    output: RequiredOutput | None = None,
) -> PlanDecision:
    """Return the plan for a view.

    A turn that failed finally aborts the session. When a stop condition is met, open turns close first,
    because their work is paid for; a deadline does not wait. A stop does not wait for parked turns, nor for
    turns that have not begun because of missing budget. `exhausted` is such a stop: a turn can never begin.
    If the session ends by itself in the same step (approved, satisfied, board empty), that is the reason
    recorded.

    A session is completed only if a turn was answered, with a message, a decision, or a pass on purpose.
    Otherwise it is cancelled.

    With `output`, the last turn of a session must give it; see `require_output`.
    """
    view, refused = judge_hand_offs(view)
    observed = stop.observe(stop_state, view.results, roster_size=len(view.roster))
    view = replace(view, turns_left=_turns_left(view, stop))
    met = stop.reason(observed, view.totals) or exhausted
    closing = None if output is None else end_after_closing_turn(view, observed, met)
    plan = _failure(view) or closing or _stopped(view, met, stop_requested) or _planned(view)
    if closing is not None:  # the board was written with the closing turn
        plan = plan.model_copy(update={"board": ()})
    if isinstance(plan, Finish) and not plan.aborted:
        plan = _completed(view, plan)
    if output is not None:
        plan, observed = require_output(
            view, plan, observed, output, met=met, will_stop=partial(stop.reason, observed)
        )
    if isinstance(plan, Wait):
        return PlanDecision(plan=plan, stop_state=stop_state)
    return PlanDecision(plan=plan, stop_state=observed, refused=refused)


def _turns_left(view: SessionView, stop: StopCondition) -> int | None:
    left = stop.turns_left(view.totals)
    return None if left is None else max(0, left - len(view.open))


def _failure(view: SessionView) -> Finish | None:
    for result in view.results:
        if result.kind is OutcomeKind.FAILED:
            detail = f"{result.participant}: {result.error or 'failed'}"
            return Finish(
                reason="failed",
                detail=detail,
                aborted=True,
                board=mode_of(view.mode).board_at_end(view, "failed"),
            )
    return None


def _stopped(view: SessionView, met: StopReason | None, requested: bool) -> Plan | None:
    reason = _REQUESTED if requested and not (met and met.urgent) else met
    if reason is None:
        return None
    if any(_is_waited_for(turn, reason) for turn in view.open):
        return Wait()
    own_end = None if view.open else mode_of(view.mode).plan(view)
    if isinstance(own_end, Finish):
        return own_end
    return Finish(
        reason=reason.code, detail=reason.detail, board=mode_of(view.mode).board_at_end(view, reason.code)
    )


def _completed(view: SessionView, end: Finish) -> Finish:
    """Return the end unchanged if a turn was answered; otherwise cancel the session, with the reason."""
    turns = view.totals.turns
    if not turns and end.reason != _REQUESTED.code:
        detail = ", ".join(filter(None, [end.detail, "before any turn was completed"]))
        return end.model_copy(update={"aborted": True, "detail": detail})
    if not turns or view.totals.skipped < turns:
        return end
    detail = f"{turns} of {turns} turns failed or were skipped"
    if view.results:
        last = view.results[-1]
        detail += f", last: {last.participant}: {last.error or last.kind.value}"
    detail += f"; {end.reason}: {end.detail}" if end.detail else f"; {end.reason}"
    return end.model_copy(update={"reason": "all_turns_failed", "detail": detail, "aborted": True})


def _is_waited_for(turn: OpenTurn, reason: StopReason) -> bool:
    return not (reason.urgent or turn.parked or (reason.broke and turn.unbegun))


def _planned(view: SessionView) -> Plan:
    plan = mode_of(view.mode).plan(view)
    if isinstance(plan, Step):
        check_step(view, plan)
    return plan
