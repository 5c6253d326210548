"""Execution of a turn: begin, run the agent, commit, follow-up work.

Only the scripts guarantee correctness. This code may fail, or its process may die, at any point. Then an
unfinished turn begins again after its lease has expired, a finished turn answers `done`, and the sweep
finds a step without a successor.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ..agents.execution.failures import to_agent_error
from ..models.errors import AgentError, LeaseLost, SessionError, StateError
from ..models.metrics import TurnOutcomeLabel
from ..models.sessions.options import AgentBinding, FailurePolicy
from ..models.text.ids import new_id
from ..models.turns.turn import OutcomeKind, TurnOutcome
from ..state.log_context import add_to_log_context
from ..state.sessions.records import ScriptAnswer
from ..state.sessions.requests import GrantRequest
from .asking import ask_agent
from .guards import GuardStop, stop_turn
from .planning.advance import advance
from .planning.dispatch import redispatch_waiting, reservation_request, shortfall_reason
from .ports import AttemptEnd, AttemptStart, Cause
from .runtime.graph import TurnCall
from .runtime.metrics import TurnMetrics
from .runtime.runtime import Boundary, Runtime
from .turns.active_turn import WRITE_GRACE_S, ActiveTurn, count_end, turn_timeout_s, write_deadline
from .turns.admission import Admission, admit_turn
from .turns.ending import apply_failure_policy, book_lost_turn, commit_turn, fail_turn, refuse_output
from .turns.results import PlanNext, TurnEnd, WakeParked, find_output_faults
from .views.session_views import decode_planned_turn
from .views.turn_context import granted_window
from .waiting.due_work import handle_due_work
from .waiting.parking import TurnToPark, park_turn

log = logging.getLogger(__name__)

#: Number of lost workers after which a turn counts as failed, because it may be the cause.
TAKEOVERS = 8


def run_turn(
    runtime: Runtime, call: TurnCall, *, task_id: str, parent_id: str | None, worker: str = ""
) -> TurnEnd:
    """Process one message of a turn, up to the end of its attempt."""
    facts = runtime.facts.get(call.session)
    if call.participant not in facts.roster:  # added after this process read the session
        facts = runtime.facts.newest(call.session)
    if call.participant not in facts.roster:
        return TurnEnd("unknown")
    policy = facts.spec.policy_of(call.participant)
    candidates = _candidate_agents(facts.spec.agents[call.participant], policy)
    claim = GrantRequest(
        number=call.turn,
        scope=call.scope,
        token=new_id(),
        lease_ms=runtime.limits.lease_ms,
        timeout_ms=int((turn_timeout_s(runtime, policy) + WRITE_GRACE_S) * 1000),
        window=granted_window(facts, max(runtime.registry.window(candidate) for candidate in candidates)),
        task_id=task_id,
        parent_id=parent_id or "",
        limit_request=reservation_request(runtime.registry, facts, candidates),
        process=runtime.held.process,
    )
    admission = admit_turn(runtime, facts, call, candidates, claim)
    if isinstance(admission, TurnEnd):
        return admission
    with admission:
        if not admission.may_run:
            claim = replace(claim, admitted=False)
        end = _begin(runtime, call, claim, admission, worker=worker)
    TurnMetrics(runtime.metrics, call.mode).booked(admission.booked)
    return end


def _begin(
    runtime: Runtime, call: TurnCall, claim: GrantRequest, admission: Admission, *, worker: str
) -> TurnEnd:
    runtime.fault_hook(Boundary.BEFORE_BEGIN, call.session, call.turn)
    metrics = TurnMetrics(runtime.metrics, call.mode)
    since = time.monotonic()
    answer = runtime.store.begin(call.session, claim)
    if answer.word != "granted" or answer.grant is None or answer.state is None:
        admission.record_not_granted(answer.word)
        metrics.not_granted(answer.word)
        log.debug("turn %s of %s: %s", call.turn, call.session, answer.word)
        return TurnEnd(answer.word, follow_up=_follow_up(runtime, call, answer))
    runtime.fault_hook(Boundary.AFTER_BEGIN, call.session, call.turn)
    metrics.granted(answer, call.turn)
    facts = runtime.facts.get_for_state(call.session, answer.state)
    agent = answer.grant.substitute or facts.spec.agents[call.participant].agent
    add_to_log_context(attempt=answer.grant.grants, agent=agent)
    planned = decode_planned_turn(answer.state, answer.state.records[call.turn], facts.roster)
    turn_services = runtime.turn_services.create(
        call.session, answer.grant, call.participant, records=facts.spec.record
    )
    recalled = runtime.memory.recall(facts, now_ms=answer.state.now_ms)
    if recalled is not None and recalled.view.degraded:
        metrics.without_memory()
    policy = facts.spec.policy_of(call.participant)
    active_turn = ActiveTurn(
        facts,
        answer.state,
        answer.grant,
        planned,
        policy,
        claim.task_id,
        turn_services,
        since,
        admission,
        recalled,
        worker,
    )
    admission.begun = True
    speak = partial(_speak, runtime, active_turn, turn_timeout_s(runtime, policy))
    end = run_traced(runtime, active_turn, speak)
    runtime.fault_hook(Boundary.BEFORE_ACK, call.session, call.turn)
    return end


def _follow_up(runtime: Runtime, call: TurnCall, answer: ScriptAnswer) -> PlanNext | WakeParked | None:
    """Return the follow-up of a delivery whose turn was not granted."""
    if answer.word in (
        "done",
        "overdue",
    ):  # a repeated or late message: the next step may not be planned yet
        return PlanNext(answer.state)
    if answer.word == "exhausted" and answer.shortfall is not None:
        return PlanNext(answer.state, exhausted=shortfall_reason(answer.shortfall, call.participant))
    if answer.word == "woken" and answer.state is not None:
        return WakeParked(runtime.facts.get_for_state(call.session, answer.state), answer.state)
    return None


def _speak(runtime: Runtime, active_turn: ActiveTurn, timeout_s: float) -> TurnEnd:
    if active_turn.grant.takeovers > TAKEOVERS:
        return apply_failure_policy(
            runtime, active_turn, f"{active_turn.grant.takeovers} workers were lost during this turn"
        )
    try:
        parked, outcome, stop = ask_agent(runtime, active_turn, timeout_s)
        if stop is not None or outcome.question is not None:
            return _stop_or_park(runtime, parked, outcome, stop)
    except LeaseLost:
        log.info(
            "turn %s of %s: lease lost, discarding output",
            active_turn.grant.number,
            active_turn.session_id,
        )
        book_lost_turn(runtime, active_turn)
        count_end(runtime, active_turn, TurnOutcomeLabel.LOST)
        return TurnEnd("lost")
    except AgentError as error:
        return fail_turn(runtime, active_turn, error)
    except (StateError, SessionError):
        raise  # not a failure of the agent: Redis is unavailable or the session does not exist; the lease expires
    except Exception as error:
        # A defect in this code fails every attempt, so the turn is not retried.
        log.exception("running turn %s of %s failed", active_turn.grant.number, active_turn.session_id)
        return fail_turn(runtime, active_turn, to_agent_error(error, retryable=False))
    if faults := find_output_faults(active_turn.facts.spec.output, active_turn.planned, outcome):
        return refuse_output(runtime, active_turn, outcome, faults)
    kind = OutcomeKind.MESSAGE if outcome.messages else OutcomeKind.PASSED
    return commit_turn(runtime, active_turn, kind, outcome)


def _stop_or_park(
    runtime: Runtime, parked: TurnToPark, outcome: TurnOutcome, stop: GuardStop | None
) -> TurnEnd:
    """End an attempt that a guard has stopped, or whose agent asks a question."""
    active_turn = parked.active_turn
    if stop is not None:
        end = stop_turn(runtime, parked, stop)
    else:
        end = park_turn(runtime, parked, outcome, until=write_deadline(runtime, active_turn))
        if end.word != "stale" and parked.asks_participant(outcome):  # another agent continues the turn
            active_turn.services.delete_data()
    is_written = stop is not None and stop.hold is None
    if active_turn.facts.has_budget and not is_written:  # other turns may use the released budget
        redispatch_waiting(runtime.graph, active_turn.facts, runtime.store.state(active_turn.session_id))
    return end


def _candidate_agents(binding: AgentBinding, policy: FailurePolicy) -> tuple[AgentBinding, ...]:
    """Return the agents that may take the turn; the grant decides between them."""
    return (binding,) if policy.substitute is None else (binding, binding.with_agent(policy.substitute))


def handle_turn_message(
    runtime: Runtime, call: TurnCall, *, task_id: str, parent_id: str | None, worker: str = ""
) -> TurnEnd:
    """Run the turn, check it if it is parked, or plan the next step if the turn is over.

    Args:
        runtime: The runtime of this process.
        call: The turn, as the message names it.
        task_id: Id of the Celery task.
        parent_id: Id of the Celery task that sent it.
        worker: Name of the worker that runs the Celery task.

    Returns:
        The result of the delivery.
    """
    end = run_turn(runtime, call, task_id=task_id, parent_id=parent_id, worker=worker)
    follow_up = end.follow_up
    if isinstance(follow_up, WakeParked):
        return handle_due_work(runtime, follow_up.facts, follow_up.state, call.turn)
    if isinstance(follow_up, PlanNext):
        advance(runtime, call.session, parent=task_id, state=follow_up.state, exhausted=follow_up.exhausted)
    return end


def run_traced(runtime: Runtime, active_turn: ActiveTurn, run: Callable[[], TurnEnd]) -> TurnEnd:
    """Run an attempt, with a span if the process has tracing."""
    if runtime.tracing is None:
        return run()
    with runtime.tracing.attempt(_start_of(active_turn)) as record_end:
        end = run()
        record_end(AttemptEnd(end.outcome or end.word, end.error, active_turn.admission.own_usage))
    return end


def _start_of(active_turn: ActiveTurn) -> AttemptStart:
    grant, participant = active_turn.grant, active_turn.planned.participant
    return AttemptStart(
        session_id=active_turn.session_id,
        mode=active_turn.facts.collab.mode.value,
        turn=grant.number,
        participant=participant,
        attempt=grant.grants,
        agent=grant.substitute or active_turn.facts.spec.agents[participant].agent,
        task_id=active_turn.task_id,
        cause=_cause_of(active_turn) if grant.grants > 1 else None,
        submitted_in=active_turn.facts.spec.submitted_in,
    )


def _cause_of(active_turn: ActiveTurn) -> Cause:
    if active_turn.grant.took_over:
        return Cause.TAKEOVER
    has_asked = bool(active_turn.state.records[active_turn.grant.number].wait)
    return Cause.ANSWER if has_asked and not active_turn.grant.failures else Cause.RETRY
