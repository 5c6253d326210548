"""Planning on: from a closed turn to the next step, by whoever gets there first.

`plan` is a compare-and-set on the session's version, so it does not matter how many workers
advance a session at once, or how often a message asks for it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable

from pydantic import JsonValue

from ..models.plan import Finish, Step, Wait
from ..models.shown import excerpt
from ..models.stop import StopReason
from ..models.turn import TurnResult
from ..state.plans import PlanFrame, PlanWrite, plan_write
from ..state.records import Answer, SessionState
from ..state.stored import read_object, told_as_corrupt
from .decide import decide
from .graph import TaskGraph, TurnCall, left_to_the_sweep
from .limits import affordable
from .runtime import Runtime
from .view import SessionFacts, begins_round, session_view

log = logging.getLogger(__name__)

#: Attempts to plan against others who plan at the same time. Each loss means that somebody else won.
RACES = 50


def plan_next(
    facts: SessionFacts,
    state: SessionState,
    *,
    parent: str,
    retention_ms: int,
    said: TurnResult | None = None,
    exhausted: StopReason | None = None,
) -> PlanWrite | None:
    """The plan for a state, or for the state after `said` is committed; None: wait for open turns. Pure.

    Raises CorruptSession.
    """
    promotes = begins_round(facts, state, said=said)
    if promotes and facts.coming is not None:
        facts = facts.coming
    view = session_view(facts, state, said=said)
    stop_state = _stop_state(facts, state)
    # Both read what they have kept there themselves.
    with told_as_corrupt(state.session_id, "planner or stop"):
        decided = decide(
            view, facts.spec.stop, stop_state, stop_requested=state.stop_requested, exhausted=exhausted
        )
    if isinstance(decided.plan, Wait):
        return None
    plan: Step | Finish = decided.plan
    frame = PlanFrame(
        expected=state.version,
        roster=facts.roster,
        stop=json.dumps(decided.stop_state),
        rounds=view.totals.rounds,
        consumed=tuple(result.number for result in view.results),
        parent=parent,
        purpose=facts.collab.purpose,
        retention_ms=retention_ms,
        scopes={turn.number: turn.scope for turn in view.open},
        promotes=promotes,
        refused=decided.refused,
    )
    return plan_write(plan, frame)


def _stop_state(facts: SessionFacts, state: SessionState) -> dict[str, JsonValue]:
    """What the stop conditions have observed; of whoever takes part no longer, nothing."""
    observed = read_object(state.stop, session_id=state.session_id, part="stop")
    if facts.edition and isinstance(silent := observed.get("silent"), list):
        observed["silent"] = [name for name in silent if isinstance(name, str) and name in facts.roster]
    return observed


def dispatch(
    graph: TaskGraph,
    facts: SessionFacts,
    state: SessionState,
    numbers: Iterable[int],
    *,
    parent: str | None = None,
) -> None:
    """`send`; without a broker the sweep does it."""
    with left_to_the_sweep(facts.session_id):
        send(graph, facts, state, numbers, parent=parent)


def send(
    graph: TaskGraph,
    facts: SessionFacts,
    state: SessionState,
    numbers: Iterable[int],
    *,
    parent: str | None = None,
) -> None:
    """Sends turns to the queue; without `parent`, as children of the task that planned each. Raises BrokerAway."""
    by_parent: dict[str, list[TurnCall]] = {}
    for number in numbers:
        record = state.records[number]
        call = TurnCall(facts.session_id, number, record.participant, facts.collab.mode, record.scope)
        by_parent.setdefault(parent or record.parent or facts.session_id, []).append(call)
    for planner, calls in by_parent.items():
        graph.send_turns(calls, parent=planner, sent_ms=state.now_ms)


def redrive(graph: TaskGraph, facts: SessionFacts, state: SessionState) -> None:
    """Sends again all that an active session may be waiting for. What is under way already answers `busy`."""
    with left_to_the_sweep(facts.session_id):
        send(graph, facts, state, [turn.number for turn in state.open_turns()])
        graph.send_advance(facts.session_id, sent_ms=state.now_ms)


def follow(runtime: Runtime, facts: SessionFacts, answer: Answer, write: PlanWrite, *, parent: str) -> bool:
    """Dispatches what `write` planned, if it was applied (now, or before an answer that was lost).

    False: there is more to plan, from `answer.state` on.
    """
    state = answer.state
    if state is None or state.planned_by != write.plan_id:
        return False
    for it in write.refused:
        log.info("turn %s of %s: hand-off to %r refused: %s", it.number, facts.session_id, it.to, it.reason)
    if state.is_final:
        runtime.index.settle(facts.session_id)
        log.info("session %s %s: %s", facts.session_id, state.status, state.reason)
        runtime.ended(facts)
        return True
    numbers = answer.numbers or [t.number for t in state.open_turns() if t.status == "planned"]
    dispatch(runtime.graph, facts, state, numbers, parent=parent)
    hand_round(runtime.graph, facts, state)
    return bool(numbers or state.open_turns())


def hand_round(graph: TaskGraph, facts: SessionFacts, state: SessionState) -> None:
    """Sends again the turns that had to wait for want of means, as many as there are means for now."""
    if facts.has_budget:
        dispatch(graph, facts, state, affordable(facts.limits, state))


def advance(
    runtime: Runtime,
    session_id: str,
    *,
    parent: str,
    state: SessionState | None = None,
    exhausted: StopReason | None = None,
) -> str:
    """Plans the session's next step and dispatches it, if there is one to plan; answers what it did, for monitors.

    `exhausted`: a turn can never begin, for want of what this says.
    """
    state = state or runtime.store.state(session_id)
    for _ in range(RACES):
        facts = runtime.facts.of(session_id, state)
        if facts.spec.memory is not None:
            runtime.memory.remember(facts, state)
        if state.status != "active":
            return f"nothing to plan: the session is {state.status}"
        write = plan_next(
            facts, state, parent=parent, retention_ms=runtime.limits.retention_ms, exhausted=exhausted
        )
        if write is None:
            hand_round(runtime.graph, facts, state)
            return "nothing to plan: waits for open turns"
        answer = runtime.store.plan(session_id, write)
        if answer.state is None or follow(runtime, facts, answer, write, parent=parent):
            return _planned(answer)
        state = answer.state
    log.warning("session %s: lost %d planning races in a row; the sweep will look again", session_id, RACES)
    return f"not planned: lost {RACES} planning races in a row"


def _planned(answer: Answer) -> str:
    if answer.state is None:
        return "session not found"
    if answer.state.is_final:
        return f"session {answer.state.status}: {answer.state.reason}"
    if not answer.numbers:
        return "planned no new turn"
    numbers = ", ".join(str(number) for number in answer.numbers)
    return excerpt(f"planned turn{'' if len(answer.numbers) == 1 else 's'} {numbers}")
