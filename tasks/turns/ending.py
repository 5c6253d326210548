"""Ends of a granted turn: commit (with the next step if it is certain), return, or final failure."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial

from pydantic import JsonValue

from ...models.errors import AgentError, StateError
from ...models.sessions.options import AfterRetries
from ...models.turns.turn import OutcomeKind, TurnOutcome, TurnResult
from ...state.sessions.records import ScriptAnswer
from ...state.sessions.requests import JournalNote, PlanWrite
from ..planners import mode_of
from ..planning.advance import advance, dispatch_plan, dispatch_turns, plan_next, redispatch_waiting
from ..runtime.runtime import Boundary, Runtime
from .active_turn import ActiveTurn, retry_during_outage, write_deadline
from .results import FAILURE_EFFECTS, WRITTEN, TurnEnd, summarize_commit, summarize_failure, summarize_return

log = logging.getLogger(__name__)

#: Maximum seconds to wait for a service that requests a later retry.
MAX_RETRY_AFTER_S = 3_600.0


def commit_turn(
    runtime: Runtime,
    floor: ActiveTurn,
    kind: OutcomeKind,
    outcome: TurnOutcome | None = None,
    *,
    error: str | None = None,
    notes: tuple[JournalNote, ...] = (),
) -> TurnEnd:
    """Write a turn, together with the next step if that is certain."""
    outcome = outcome or TurnOutcome()
    words = floor.message_builder
    result = words.result(kind, outcome, error=error)
    if floor.recalled_memory is not None:
        result = runtime.memory.add_statements(floor.recalled_memory, result, outcome)
    others = {**floor.accounts()}
    others.pop(floor.grant.token, None)
    speech = replace(words.build_output(result, outcome, now=floor.now()), others=others, notes=notes)
    write = _plan_ahead(runtime, floor, result)
    runtime.fault_hook(Boundary.BEFORE_COMMIT, floor.session_id, floor.grant.number)
    answer = retry_during_outage(
        partial(runtime.store.commit, floor.session_id, floor.grant, speech, then=write),
        until=write_deadline(runtime, floor),
        what=f"turn {floor.grant.number} of {floor.session_id}",
    )
    runtime.fault_hook(Boundary.AFTER_COMMIT, floor.session_id, floor.grant.number)
    is_written = answer.word in WRITTEN
    if is_written:
        floor.services.delete_data()
    floor.admission.is_written = is_written
    floor.admission.record_end(answer, outcome.usage, done=is_written)
    _continue_session(runtime, floor, answer, write)
    return summarize_commit(answer.word, kind, outcome)


def _plan_ahead(runtime: Runtime, floor: ActiveTurn, result: TurnResult) -> PlanWrite | None:
    """Return the next step, which is written together with the turn to save a round trip.

    The next step waits for all parallel turns, except in a swarm: there it is outdated only if one of them
    has closed in the meantime. It also waits for what the turn writes to memory.
    """
    if floor.recalled_memory is not None and floor.recalled_memory.has_owner:
        return None
    beside_others = len(floor.state.open_turns()) > 1
    if beside_others and mode_of(floor.facts.collab.mode).has_rounds:
        return None
    try:
        return plan_next(
            floor.facts,
            floor.state,
            parent=floor.task_id,
            retention_ms=runtime.limits.retention_ms,
            said=result,
        )
    except Exception:
        # The output is paid for, so it is written without a next step; `advance` then raises the same error.
        log.exception("planning after turn %s of %s failed", result.number, floor.session_id)
        return None


def _continue_session(
    runtime: Runtime, floor: ActiveTurn, answer: ScriptAnswer, write: PlanWrite | None
) -> None:
    if answer.word not in ("committed", "done"):
        log.info(
            "turn %s of session %s: commit returned `%s`, not planning the next step",
            floor.grant.number,
            floor.session_id,
            answer.word,
        )
        return
    if write is not None and dispatch_plan(runtime, floor.facts, answer, write, parent=floor.task_id):
        return
    advance(runtime, floor.session_id, parent=floor.task_id, state=answer.state)


def fail_turn(runtime: Runtime, floor: ActiveTurn, error: AgentError) -> TurnEnd:
    """Return the turn for a retry, or apply the failure policy if no attempt is left."""
    policy, failures = floor.policy, floor.grant.failures + 1
    line = str(error)[:500]
    log.warning(
        "turn %s of session %s failed (attempt %d of %d): %s%s",
        floor.grant.number,
        floor.session_id,
        failures,
        policy.attempts,
        line,
        f"\n{error.origin.traceback}" if error.origin else "",
    )
    notes = _failure_notes(floor, error, line)
    if error.retryable and failures < policy.attempts:
        delay_ms = int(max(policy.delay_s(failures), min(error.retry_after_s or 0, MAX_RETRY_AFTER_S)) * 1000)
        answer = _return_turn(runtime, floor, line, delay_ms=delay_ms, notes=notes)
        if answer.due_ms is not None:
            runtime.index.set_due_by(floor.session_id, answer.due_ms)
        if answer.state is not None:
            redispatch_waiting(runtime.graph, floor.facts, answer.state)
        then = f"attempt {failures} of {policy.attempts}, retried in {delay_ms / 1000:g} s"
        return summarize_return(answer.word, line, then)
    return apply_failure_policy(runtime, floor, line, notes)


def _failure_notes(floor: ActiveTurn, error: AgentError, line: str) -> tuple[JournalNote, ...]:
    """Return journal notes with the place in the agent's own code where the turn failed."""
    if error.origin is None:
        return ()
    data: dict[str, JsonValue] = {
        "turn_number": floor.grant.number,
        "participant_id": floor.planned.participant,
        "token_id": floor.grant.token,
        "attempt": floor.grant.grants,
        "type": error.origin.error_type,
        "at": error.origin.place,
        "error": line,
    }
    return (JournalNote("turn.failed", data),)


def apply_failure_policy(
    runtime: Runtime, floor: ActiveTurn, line: str, notes: tuple[JournalNote, ...] = ()
) -> TurnEnd:
    """Apply the failure policy after the last failure of a turn: substitute, skip, or end of the session."""
    policy = floor.policy
    if policy.then is AfterRetries.SUBSTITUTE and policy.substitute and floor.grant.substitute is None:
        answer = _return_turn(runtime, floor, line, delay_ms=0, agent=policy.substitute, notes=notes)
        if answer.word == "retried" and answer.state is not None:
            dispatch_turns(runtime.graph, floor.facts, answer.state, [floor.grant.number])
        then = f"agent {policy.substitute!r} takes over"
        return summarize_return(answer.word, line, then, is_last=True)
    kind = OutcomeKind.SKIPPED if policy.then is AfterRetries.SKIP else OutcomeKind.FAILED
    end = commit_turn(runtime, floor, kind, TurnOutcome(usage=floor.own_usage), error=line, notes=notes)
    if end.word not in WRITTEN:
        return end
    return summarize_failure(end.word, line, FAILURE_EFFECTS[kind], is_last=True)


def _return_turn(
    runtime: Runtime,
    floor: ActiveTurn,
    line: str,
    *,
    delay_ms: int,
    notes: tuple[JournalNote, ...],
    agent: str = "",
) -> ScriptAnswer:
    answer = runtime.store.fail(
        floor.session_id,
        floor.grant,
        delay_ms=delay_ms,
        error=line,
        agent=agent,
        spent=floor.accounts(),
        notes=notes,
    )
    floor.admission.record_end(answer, floor.own_usage, done=answer.word == "retried", keep_ms=delay_ms)
    return answer


def book_lost_turn(runtime: Runtime, floor: ActiveTurn) -> None:
    """Book the usage of a turn whose lease this worker has lost."""
    accounts = floor.accounts()
    if not accounts and floor.admission.tenant is None:
        return
    try:
        answer = runtime.store.book_usage(floor.session_id, floor.grant, accounts)
    except StateError as error:
        log.warning(
            "recording the usage of turn %s of session %s failed: %s",
            floor.grant.number,
            floor.session_id,
            error,
        )
        return
    floor.admission.record_end(answer, floor.own_usage, done=False)
