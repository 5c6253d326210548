"""Decision about the next step of a session: failure, stop conditions, planner, in this order. Pure.

The turn that must give the output of a session is its last turn, or a closing turn after it. The progress of the
output is stored with the state of the stop conditions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from pydantic import JsonValue

from ...models.modes import check_step, judge_hand_offs, mode_of
from ...models.outputs import OutputProgress, RequiredOutput, SessionEnd
from ...models.sessions.plan import (
    Finish,
    OpenTurn,
    Plan,
    PlannedTurn,
    RefusedHandOff,
    SessionView,
    Step,
    Totals,
    Wait,
)
from ...models.sessions.stop_conditions import StopCondition, StopReason
from ...models.text.words import count_of
from ...models.turns.turn import Expects, OutcomeKind

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
    detail = f"{turns} of {count_of(turns, 'turn failed or was skipped', 'turns failed or were skipped')}"
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


#: Key of the progress in the state of the stop conditions.
_KEY = "output"
_CLOSE = "The session is about to end ({reason}). Give its result now."

_State = dict[str, JsonValue]


def read_progress(stop_state: _State) -> OutputProgress:
    """Return the progress of the output from the state of the stop conditions."""
    return OutputProgress.model_validate(stop_state.get(_KEY) or {})


def forget_output(stop_state: _State) -> _State:
    """Return the state of the stop conditions for a fork, whose dialog does not have the output given so far."""
    if _KEY not in stop_state:
        return stop_state
    kept = OutputProgress(speaker=read_progress(stop_state).speaker)
    return {**stop_state, _KEY: kept.model_dump(mode="json", exclude_defaults=True)}


def end_after_closing_turn(view: SessionView, stop_state: _State, met: StopReason | None) -> Plan | None:
    """Return the plan while, or after, the closing turn runs; None: there is no closing turn yet.

    The closing turn is over when it has closed, at a deadline, and when the budget does not allow it.
    """
    end = read_progress(stop_state).end
    if end is None:
        return None
    if view.open and met is not None and (met.urgent or met.broke):
        return Finish(reason=met.code, detail=met.detail)
    return Wait() if view.open else Finish(reason=end.reason, detail=end.detail)


def require_output(
    view: SessionView,
    plan: Plan,
    stop_state: _State,
    rule: RequiredOutput,
    *,
    met: StopReason | None,
    will_stop: Callable[[Totals], StopReason | None],
) -> tuple[Plan, _State]:
    """Return the plan that lets the last turn give the output, and the new state of the stop conditions.

    - A step with one turn, after which the session ends for certain, requires the output in this turn.
    - An end without an output becomes a closing turn, once. It comes after the last turn that the stop conditions
      allow. There is none after an abort, a deadline, or the end of a budget.
    """
    progress = read_progress(stop_state).after(view.results, rule)
    if isinstance(plan, Step) and _is_last(view, plan, will_stop) and _may_give(plan.turns[0], rule):
        plan = plan.model_copy(update={"turns": (plan.turns[0].model_copy(update={"output": True}),)})
        progress = progress.model_copy(update={"required": True})
    elif isinstance(plan, Finish) and not plan.aborted and progress.turn is None:
        stopped = met is not None and (met.urgent or met.broke)
        if progress.required or progress.end or stopped:
            plan = plan.model_copy(update={"detail": f"{plan.detail}; no output".removeprefix("; ")})
        else:
            end = SessionEnd(reason=plan.reason, detail=plan.detail)
            progress = progress.model_copy(update={"required": True, "end": end})
            plan = _closing_step(view, plan, rule.by or progress.speaker)
    return plan, {**stop_state, _KEY: progress.model_dump(mode="json", exclude_defaults=True)}


def _is_last(view: SessionView, step: Step, will_stop: Callable[[Totals], StopReason | None]) -> bool:
    """Return whether the session ends for certain after this step of one turn."""
    if len(step.turns) != 1 or not {turn.number for turn in view.open}.issubset(step.drop):
        return False
    if step.turns[0].reduces:
        return True
    totals = view.totals
    after = replace(totals, turns=totals.turns + 1, rounds=totals.rounds + step.ends_round)
    return will_stop(after) is not None


def _may_give(turn: PlannedTurn, rule: RequiredOutput) -> bool:
    return turn.expects is Expects.MESSAGE and rule.may_come_from(turn.participant)


def _closing_step(view: SessionView, end: Finish, speaker: str | None) -> Step:
    ids = view.ids()
    turn = PlannedTurn(
        participant=speaker if speaker is not None and speaker in ids else ids[-1],
        instruction=_CLOSE.format(reason=end.reason),
        output=True,
    )
    return Step(
        turns=(turn,), state=view.state, drop=tuple(turn.number for turn in view.open), board=end.board
    )
