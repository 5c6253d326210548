"""Planning of a session's next step, and dispatch of its turns.

`plan` is a compare-and-set on the session's version. Any number of workers may advance a session
at once, and a message may ask for it any number of times.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import JsonValue

from ...models.sessions.plan import Finish, Step, Wait
from ...models.sessions.stop_conditions import StopReason
from ...models.text.json_text import dump_json
from ...models.text.redact import excerpt
from ...models.turns.turn import TurnResult
from ...state.redis.readers import converting_to_corrupt, read_object
from ...state.sessions.records import ScriptAnswer, SessionState
from ...state.sessions.requests import PlanFrame, PlanWrite, build_plan_write
from ..runtime.graph import report_dropped
from ..runtime.metrics import TurnMetrics
from ..runtime.reporting import finish_session
from ..views.session_views import SessionFacts, begins_round, session_view
from .decide import decide
from .dispatch import dispatch_turns, redispatch_waiting

if TYPE_CHECKING:
    from ..runtime.runtime import Runtime

log = logging.getLogger(__name__)

#: Maximum planning attempts. An attempt fails only if another planner succeeded at the same time.
MAX_PLAN_ATTEMPTS = 50
#: Answers of the call that has applied its plan.
_APPLIED = ("committed", "planned")


def plan_next(
    facts: SessionFacts,
    state: SessionState,
    *,
    parent: str,
    retention_ms: int,
    said: TurnResult | None = None,
    exhausted: StopReason | None = None,
) -> PlanWrite | None:
    """Return the plan for a state, or after the commit of `said`; None: wait for open turns. Pure.

    Raises:
        CorruptSession: A stored record is invalid.
    """
    promotes = begins_round(facts, state, said=said)
    if promotes and facts.coming is not None:
        facts = facts.coming
    view = session_view(facts, state, said=said)
    stop_state = _stop_state(facts, state)
    # Planners and stop conditions parse their own stored state, which may be corrupt.
    with converting_to_corrupt(state.session_id, "planner or stop"):
        decided = decide(
            view,
            facts.spec.stop,
            stop_state,
            stop_requested=state.stop_requested,
            exhausted=exhausted,
            output=facts.spec.output,
        )
    if isinstance(decided.plan, Wait):
        return None
    plan: Step | Finish = decided.plan
    frame = PlanFrame(
        expected=state.version,
        roster=facts.roster,
        stop=dump_json(decided.stop_state),
        rounds=view.totals.rounds,
        consumed=tuple(result.number for result in view.results),
        consumed_by={result.number: result.participant for result in view.results},
        parent=parent,
        purpose=facts.collab.purpose,
        retention_ms=retention_ms,
        scopes={turn.number: turn.scope for turn in view.open},
        promotes=promotes,
        refused=decided.refused,
    )
    return build_plan_write(plan, frame)


def _stop_state(facts: SessionFacts, state: SessionState) -> dict[str, JsonValue]:
    """Return the state of the stop conditions, without participants who have left."""
    observed = read_object(state.stop, session_id=state.session_id, part="stop")
    if facts.edition and isinstance(silent := observed.get("silent"), list):
        observed["silent"] = [name for name in silent if isinstance(name, str) and name in facts.roster]
    return observed


def dispatch_plan(
    runtime: Runtime, facts: SessionFacts, answer: ScriptAnswer, write: PlanWrite, *, parent: str
) -> bool:
    """Dispatch the plan of `write` if it was applied, now or by an earlier call whose answer was lost.

    Returns:
        False: there is more to plan, from `answer.state` on.
    """
    state = answer.state
    if state is None or state.planned_by != write.plan_id:
        return False
    for hand_off in write.refused:
        log.info(
            "turn %s of %s: hand-off to %r refused: %s",
            hand_off.number,
            facts.session_id,
            hand_off.to,
            hand_off.reason,
        )
    report_dropped(runtime.graph, state, write.dropped)
    if 1 in answer.numbers:
        TurnMetrics(runtime.ports.metrics, facts.collab.mode).started()
    if state.is_final:
        runtime.sessions.tree.settle_end(runtime, facts, state)
        if facts.spec.on_end is not None:
            runtime.ports.end_messages.send(facts.session_id)
        finish_session(runtime, facts, state)
        log.info("session %s %s: %s", facts.session_id, state.status, state.reason)
        runtime.ports.on_session_ended(facts)
        return True
    if write.dropped:
        runtime.sessions.tree.settle_dropped(runtime, state)
    numbers: Sequence[int] = answer.numbers
    if answer.word not in _APPLIED:  # an earlier call applied it, and its answer was lost
        numbers = [t.number for t in state.open_turns() if t.status == "planned"]
    dispatch_turns(runtime.graph, facts, state, numbers, parent=parent)
    redispatch_waiting(runtime.graph, facts, state)
    return bool(numbers or state.open_turns())


def advance(
    runtime: Runtime,
    session_id: str,
    *,
    parent: str,
    state: SessionState | None = None,
    exhausted: StopReason | None = None,
) -> str:
    """Plan the session's next step and dispatch it, if there is one to plan.

    Args:
        runtime: The runtime of this process.
        session_id: Id of the session.
        parent: Id of the Celery task that plans.
        state: State of the session, as just read; None: read it.
        exhausted: The exhausted budget, without which a turn can never begin.

    Returns:
        A summary for monitors.
    """
    state = state or runtime.store.state(session_id)
    for _ in range(MAX_PLAN_ATTEMPTS):
        facts = runtime.sessions.facts.get_for_state(session_id, state)
        if facts.spec.memory is not None:
            runtime.ports.memory.remember(facts, state)
        if facts.spec.recall is not None:
            runtime.ports.recollections.remember(facts, state)
        if state.status != "active":
            return f"nothing to plan: the session is {state.status}"
        write = plan_next(
            facts, state, parent=parent, retention_ms=runtime.limits.retention_ms, exhausted=exhausted
        )
        if write is None:
            redispatch_waiting(runtime.graph, facts, state)
            return "nothing to plan: waiting for open turns"
        answer = runtime.store.plan(session_id, write)
        if answer.state is None or dispatch_plan(runtime, facts, answer, write, parent=parent):
            return _summarize_plan(answer)
        state = answer.state
    log.warning(
        "session %s: planning failed, %d conflicts with concurrent changes in a row; the sweep will retry",
        session_id,
        MAX_PLAN_ATTEMPTS,
    )
    return f"not planned: {MAX_PLAN_ATTEMPTS} conflicts with concurrent changes in a row"


def _summarize_plan(answer: ScriptAnswer) -> str:
    if answer.state is None:
        return "session not found"
    if answer.state.is_final:
        return f"session {answer.state.status}: {answer.state.reason}"
    if not answer.numbers:
        return "planned no new turn"
    numbers = ", ".join(str(number) for number in answer.numbers)
    return excerpt(f"planned turn{'' if len(answer.numbers) == 1 else 's'} {numbers}")
