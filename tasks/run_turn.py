"""Execution of a turn: begin, run the agent, commit, follow-up work.

Only the scripts guarantee correctness. This code may fail, or its process may die, at any point. Then an
unfinished turn begins again after its lease has expired, a finished turn answers `done`, and the sweep
finds a step without a successor.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace

from ..agents.execution.failures import to_agent_error
from ..models.errors import AgentError, LeaseLost, SessionError, StateError
from ..models.metrics import TurnOutcomeLabel
from ..models.protocol.dialog import Message
from ..models.turns.turn import OutcomeKind, TurnContext, TurnOutcome
from ..state.log_context import add_to_log_context
from ..state.sessions.records import Grant, ScriptAnswer, SessionState
from ..state.sessions.turn_records import TaskInfo
from .asking import ask_agent
from .attempts import describe_end, describe_start
from .guards import GuardStop, stop_turn
from .planning.advance import advance
from .planning.dispatch import redispatch_waiting, shortfall_reason
from .runtime.graph import TurnCall
from .runtime.metrics import TurnMetrics
from .runtime.next_turn import ClaimedTurn
from .runtime.runtime import Boundary, Runtime
from .sentences import read_sentence
from .turns.admission import Admission, admit_turn
from .turns.claiming import build_claim, candidates_of
from .turns.ending import apply_failure_policy, book_lost_turn, commit_turn, fail_turn, refuse_output
from .turns.repetition import repeats_recent_messages
from .turns.results import TurnEnd, find_output_faults
from .turns.turn import Turn, count_end, turn_timeout_s
from .views.session_views import decode_planned_turn
from .waiting.due_work import handle_due_work
from .waiting.parking import park_turn

log = logging.getLogger(__name__)

#: Number of lost workers after which a turn counts as failed, because it may be the cause.
TAKEOVERS = 8


def handle_turn_message(runtime: Runtime, call: TurnCall, task: TaskInfo) -> TurnEnd:
    """Run the turn, check it if it is parked, or plan the next step if the turn is over.

    Args:
        runtime: The runtime of this process.
        call: The turn, as the message names it.
        task: The Celery task of the message.

    Returns:
        The result of the delivery.
    """
    end = run_turn(runtime, call, task)
    if end.then == "wake" and end.state is not None:
        facts = runtime.sessions.facts.get_for_state(call.session, end.state)
        return handle_due_work(runtime, facts, end.state, call.turn)
    if end.then == "plan":
        advance(runtime, call.session, parent=task.id, state=end.state, exhausted=end.exhausted)
    return end


def run_turn(runtime: Runtime, call: TurnCall, task: TaskInfo) -> TurnEnd:
    """Process one message of a turn, up to the end of its attempt."""
    claimed = runtime.sessions.next_turns.take(call.session, call.turn)
    facts = runtime.sessions.facts.with_participant(call.session, call.participant)
    if facts is None:
        return TurnEnd("unknown")
    if claimed is not None:
        admission = Admission(runtime.store.client, call, claimed.claim.token)
    else:
        candidates = candidates_of(facts, call.participant)
        claim = build_claim(
            runtime,
            facts,
            candidates,
            participant=call.participant,
            number=call.turn,
            scope=call.scope,
            task_id=task.id,
            parent_id=task.parent or "",
        )
        admitted = admit_turn(runtime, facts, call, candidates, claim)
        if isinstance(admitted, TurnEnd):
            return admitted
        admission = admitted
        claim = claim if admission.may_run else replace(claim, admitted=False)
        claimed = ClaimedTurn(claim, runtime.sessions.tails.tail(call.session, claim.window))
    with admission:
        end = _begin(runtime, call, task, claimed, admission)
    TurnMetrics(runtime.ports.metrics, call.mode).booked(admission.booked)
    return end


def _begin(
    runtime: Runtime, call: TurnCall, task: TaskInfo, claimed: ClaimedTurn, admission: Admission
) -> TurnEnd:
    runtime.fault_hook(Boundary.BEFORE_BEGIN, call.session, call.turn)
    metrics = TurnMetrics(runtime.ports.metrics, call.mode)
    claim, tail = claimed.claim, claimed.tail
    answer, since = claimed.answer, claimed.since
    if answer is None:
        since = time.monotonic()
        answer = runtime.store.begin(call.session, claim, seen=tail.newest if tail else None)
    if answer.grant is None or answer.state is None:
        admission.record_not_granted(answer.word)
        metrics.not_granted(answer.word)
        log.debug("turn %s of %s: %s", call.turn, call.session, answer.word)
        return _not_granted(call, answer)
    runtime.fault_hook(Boundary.AFTER_BEGIN, call.session, call.turn)
    metrics.granted(answer, call.turn)
    messages = runtime.sessions.tails.read(call.session, answer.grant, claim.window, tail)
    turn = _open_turn(
        runtime,
        call,
        task,
        answer.grant,
        answer.state,
        messages,
        admission=admission,
        since=since,
    )
    if turn.recall is not None and turn.recall.view.degraded:
        metrics.without_memory()
    admission.begun = True
    end = _run_traced(runtime, turn)
    runtime.fault_hook(Boundary.BEFORE_ACK, call.session, call.turn)
    return end


def _not_granted(call: TurnCall, answer: ScriptAnswer) -> TurnEnd:
    """Return the end of a delivery whose turn was not granted."""
    if answer.word in ("done", "overdue"):  # a repeated or late message: the next step may not be planned yet
        return TurnEnd(answer.word, then="plan", state=answer.state)
    if answer.word == "exhausted" and answer.shortfall is not None:
        reason = shortfall_reason(answer.shortfall, call.participant)
        return TurnEnd(answer.word, then="plan", state=answer.state, exhausted=reason)
    return TurnEnd(answer.word, then="wake" if answer.word == "woken" else "", state=answer.state)


def _open_turn(
    runtime: Runtime,
    call: TurnCall,
    task: TaskInfo,
    grant: Grant,
    state: SessionState,
    messages: tuple[Message, ...],
    *,
    admission: Admission,
    since: float,
) -> Turn:
    """Return the turn that was granted at `since`, by `time.monotonic()`."""
    facts = runtime.sessions.facts.get_for_state(call.session, state)
    agent = grant.substitute or facts.spec.agents[call.participant].agent
    add_to_log_context(attempt=grant.grants, agent=agent)
    planned = decode_planned_turn(state, state.records[grant.number], facts.roster)
    policy = facts.spec.policy_of(call.participant)
    return Turn(
        facts=facts,
        state=state,
        grant=grant,
        messages=messages,
        planned=planned,
        policy=policy,
        binding=facts.spec.agents[planned.participant].with_agent(grant.substitute),
        timeout_s=turn_timeout_s(runtime, policy),
        task=task,
        journal=runtime.agents.services.open_journal(call.session, grant),
        recorder=runtime.agents.services.open_recorder() if facts.spec.record else None,
        recall=runtime.ports.memory.recall(facts, now_ms=state.now_ms),
        admission=admission,
        since=since,
    )


def _run_traced(runtime: Runtime, turn: Turn) -> TurnEnd:
    """Run an attempt, with a span if the process has tracing."""
    if runtime.ports.tracing is None:
        return _speak(runtime, turn)
    with runtime.ports.tracing.attempt(describe_start(turn)) as record_end:
        end = _speak(runtime, turn)
        record_end(describe_end(turn, end, runtime.agents.services.secrets))
    return end


def _speak(runtime: Runtime, turn: Turn) -> TurnEnd:
    if turn.grant.takeovers > TAKEOVERS:
        line = f"{turn.grant.takeovers} workers were lost during this turn"
        return apply_failure_policy(runtime, turn, line)
    try:
        turn = read_sentence(runtime, turn)
        context, outcome, stop = ask_agent(runtime, turn)
        if stop is not None or outcome.question is not None:
            return _stop_or_park(runtime, turn, context, outcome, stop)
    except LeaseLost:
        log.info("turn %s of %s: lease lost, discarding output", turn.number, turn.session_id)
        book_lost_turn(runtime, turn)
        count_end(runtime, turn, TurnOutcomeLabel.LOST)
        return TurnEnd("lost")
    except AgentError as error:
        return fail_turn(runtime, turn, error)
    except (StateError, SessionError):
        raise  # not a failure of the agent: Redis is unavailable or the session does not exist; the lease expires
    except Exception as error:
        # A defect in this code fails every attempt, so the turn is not retried.
        log.exception("running turn %s of %s failed", turn.number, turn.session_id)
        return fail_turn(runtime, turn, to_agent_error(error, retryable=False))
    if faults := find_output_faults(turn.facts.spec.output, turn.planned, outcome):
        return refuse_output(runtime, turn, outcome, faults)
    kind = OutcomeKind.MESSAGE if outcome.messages else OutcomeKind.PASSED
    repeats = repeats_recent_messages(turn.facts, turn.planned, context, outcome)
    return commit_turn(runtime, turn, kind, outcome, repeats=repeats)


def _stop_or_park(
    runtime: Runtime, turn: Turn, context: TurnContext, outcome: TurnOutcome, stop: GuardStop | None
) -> TurnEnd:
    """End an attempt that a guard has stopped, or whose agent asks a question."""
    if stop is not None:
        end = stop_turn(runtime, turn, context, stop)
    else:
        end = park_turn(runtime, turn, context, outcome)
        if end.word != "stale" and turn.asks_own_participant(outcome):  # another agent continues the turn
            turn.journal.close()
    is_written = stop is not None and stop.hold is None
    if turn.facts.has_budget and not is_written:  # other turns may use the released budget
        redispatch_waiting(runtime.graph, turn.facts, runtime.store.state(turn.session_id))
    return end
