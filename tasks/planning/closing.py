"""The turn that must give the output of a session: the last turn, or a closing turn after it. Pure.

The progress of the output is stored with the state of the stop conditions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pydantic import JsonValue

from ...models.outputs import OutputProgress, RequiredOutput, SessionEnd
from ...models.sessions.plan import Finish, Plan, PlannedTurn, SessionView, Step, Totals, Wait
from ...models.sessions.stop_conditions import StopReason
from ...models.turns.turn import Expects

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
