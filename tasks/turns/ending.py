"""Ends of a granted turn: commit (with the next step if it is certain), return, or final failure.

The record of a turn, in a session that records its calls, is written before the turn itself.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial

from pydantic import JsonValue
from redis.exceptions import RedisError

from ...models.errors import AgentError, StateError
from ...models.metrics import TurnOutcomeLabel
from ...models.modes import mode_of
from ...models.sessions.options import AfterRetries
from ...models.text.words import count_of
from ...models.turns.turn import OutcomeKind, TurnOutcome, TurnResult
from ...state.sessions.archiving import MAX_TURN_BYTES, RecordingStore
from ...state.sessions.records import ScriptAnswer
from ...state.sessions.requests import JournalNote, PlanWrite
from ..planning.advance import advance, dispatch_plan, plan_next
from ..planning.dispatch import dispatch_turns, redispatch_waiting
from ..runtime.runtime import Boundary, Runtime
from .claiming import claim_next, keep_next
from .results import (
    FAILURE_EFFECTS,
    WRITTEN,
    TurnEnd,
    describe_faults,
    summarize_commit,
    summarize_failure,
    summarize_return,
)
from .turn import Turn, count_end, retry_during_outage

log = logging.getLogger(__name__)

#: Maximum seconds to wait for a service that requests a later retry.
MAX_RETRY_AFTER_S = 3_600.0


def commit_turn(
    runtime: Runtime,
    turn: Turn,
    kind: OutcomeKind,
    outcome: TurnOutcome | None = None,
    *,
    error: str | None = None,
    notes: tuple[JournalNote, ...] = (),
    repeats: bool = False,
) -> TurnEnd:
    """Write a turn, together with the next step if that is certain; `repeats`: it brings nothing new."""
    outcome = outcome or TurnOutcome()
    builder = turn.message_builder()
    result = builder.result(kind, outcome, error=error, repeats=repeats)
    notes = (*notes, _repetition_note(turn)) if repeats else notes
    if turn.recall is not None:
        result, dropped = runtime.ports.memory.add_statements(turn.recall, result, outcome)
        notes = (*notes, *dropped)
    if outcome.notes:
        result = _with_notes(turn, result, outcome)
    others = {**turn.journal.accounts()}
    others.pop(turn.grant.token, None)
    output = builder.build_output(result, outcome, now=turn.now(), others=others, notes=notes)
    write = _plan_ahead(runtime, turn, result)
    record_turn(runtime, turn, result)
    runtime.fault_hook(Boundary.BEFORE_COMMIT, turn.session_id, turn.number)
    commit = partial(runtime.store.commit, turn.session_id, turn.grant, output, then=write)
    if next_turn := claim_next(runtime, turn, write):
        seen = next_turn.tail.newest if next_turn.tail else None
        commit = partial(commit, claim=next_turn.claim, seen=seen)
    answer = retry_during_outage(
        commit,
        until=turn.write_deadline,
        what=f"turn {turn.number} of {turn.session_id}",
    )
    runtime.fault_hook(Boundary.AFTER_COMMIT, turn.session_id, turn.number)
    is_written = answer.word in WRITTEN
    if is_written:
        turn.journal.close()
    count_end(runtime, turn, TurnOutcomeLabel(kind.value), refused="" if is_written else answer.word)
    turn.admission.is_written = is_written
    turn.admission.record_end(answer, outcome.usage, done=is_written)
    if next_turn is not None and is_written:
        answer = keep_next(runtime, turn, next_turn, answer)
    _continue_session(runtime, turn, answer, write)
    return summarize_commit(answer.word, kind, outcome)


def _with_notes(turn: Turn, result: TurnResult, outcome: TurnOutcome) -> TurnResult:
    """Return the result with the notes of its agent; in a session without long-term memory they are dropped."""
    if turn.facts.spec.recall is None:
        log.warning(
            "turn %s of session %s: %s dropped, the session has no `recall`",
            *(turn.number, turn.session_id, count_of(len(outcome.notes), "note")),
        )
        return result
    return result.model_copy(update={"notes": outcome.notes})


def _repetition_note(turn: Turn) -> JournalNote:
    data: dict[str, JsonValue] = {"turn_number": turn.number, "participant_id": turn.planned.participant}
    return JournalNote("turn.repeats", data)


def _plan_ahead(runtime: Runtime, turn: Turn, result: TurnResult) -> PlanWrite | None:
    """Return the next step, which is written together with the turn to save a round trip.

    The next step waits for all parallel turns, except in a swarm: there it is outdated only if one of them
    has closed in the meantime. It also waits for what the turn writes to memory.
    """
    if (turn.recall is not None and turn.recall.has_owner) or result.notes:
        return None
    beside_others = len(turn.state.open_turns()) > 1
    if beside_others and mode_of(turn.facts.collab.mode).has_rounds:
        return None
    try:
        return plan_next(
            turn.facts,
            turn.state,
            parent=turn.task.id,
            retention_ms=runtime.limits.retention_ms,
            said=result,
        )
    except Exception:
        # The output is paid for, so it is written without a next step; `advance` then raises the same error.
        log.exception("planning after turn %s of %s failed", result.number, turn.session_id)
        return None


def _continue_session(runtime: Runtime, turn: Turn, answer: ScriptAnswer, write: PlanWrite | None) -> None:
    if answer.word not in ("committed", "done"):
        log.info(
            "turn %s of session %s: commit returned `%s`, not planning the next step",
            turn.number,
            turn.session_id,
            answer.word,
        )
        return
    if write is not None and dispatch_plan(runtime, turn.facts, answer, write, parent=turn.task.id):
        return
    advance(runtime, turn.session_id, parent=turn.task.id, state=answer.state)


def fail_turn(
    runtime: Runtime, turn: Turn, error: AgentError, *, notes: tuple[JournalNote, ...] = ()
) -> TurnEnd:
    """Return the turn for a retry, or apply the failure policy if no attempt is left; `notes` are events of it."""
    policy, failures = turn.policy, turn.grant.failures + 1
    line = str(error)[:500]
    log.warning(
        "turn %s of session %s failed (attempt %d of %d): %s%s",
        turn.number,
        turn.session_id,
        failures,
        policy.attempts,
        line,
        f"\n{error.origin.traceback}" if error.origin else "",
        extra={"agent_traceback": error.origin.traceback if error.origin else ""},
    )
    notes = (*notes, *_failure_notes(turn, error, line))
    if error.retryable and failures < policy.attempts:
        delay_ms = int(max(policy.delay_s(failures), min(error.retry_after_s or 0, MAX_RETRY_AFTER_S)) * 1000)
        answer = _return_turn(runtime, turn, line, delay_ms=delay_ms, notes=notes)
        if answer.due_ms is not None:
            runtime.index.set_due_by(turn.session_id, answer.due_ms)
        if answer.state is not None:
            redispatch_waiting(runtime.graph, turn.facts, answer.state)
        then = f"attempt {failures} of {policy.attempts}, retried in {delay_ms / 1000:g} s"
        return replace(summarize_return(answer.word, line, then), raised=error)
    return replace(apply_failure_policy(runtime, turn, line, notes), raised=error)


def _failure_notes(turn: Turn, error: AgentError, line: str) -> tuple[JournalNote, ...]:
    """Return journal notes with the place in the agent's own code where the turn failed."""
    if error.origin is None:
        return ()
    data: dict[str, JsonValue] = {
        "turn_number": turn.number,
        "participant_id": turn.planned.participant,
        "token_id": turn.grant.token,
        "attempt": turn.grant.grants,
        "type": error.origin.error_type,
        "at": error.origin.place,
        "error": line,
    }
    return (JournalNote("turn.failed", data),)


def apply_failure_policy(
    runtime: Runtime,
    turn: Turn,
    line: str,
    notes: tuple[JournalNote, ...] = (),
    *,
    said: TurnOutcome | None = None,
) -> TurnEnd:
    """Apply the failure policy after the last failure of a turn: substitute, skip, or end of the session.

    The messages of `said`, an answer that was refused, stay readable: they are written with the turn, or, if a
    substitute takes over, in the session's journal.
    """
    policy = turn.policy
    if said is None and not runtime.agents.registry.checks_answers(turn.agent):
        said = turn.refused_answer()  # an answer that guards have not checked must not be written
    if policy.then is AfterRetries.SUBSTITUTE and policy.substitute and turn.grant.substitute is None:
        notes = (*notes, _refused_answer_note(turn, said)) if said and said.messages else notes
        answer = _return_turn(runtime, turn, line, delay_ms=0, agent=policy.substitute, notes=notes)
        if answer.word == "retried" and answer.state is not None:
            dispatch_turns(runtime.graph, turn.facts, answer.state, [turn.number])
        then = f"agent {policy.substitute!r} takes over"
        return summarize_return(answer.word, line, then, is_last=True)
    kind = OutcomeKind.SKIPPED if policy.then is AfterRetries.SKIP else OutcomeKind.FAILED
    outcome = TurnOutcome(
        messages=said.messages if said else (), usage=said.usage if said else turn.own_usage
    )
    end = commit_turn(runtime, turn, kind, outcome, error=line, notes=notes)
    if end.word not in WRITTEN:
        return end
    return summarize_failure(end.word, line, FAILURE_EFFECTS[kind], is_last=True, kind=kind)


def _refused_answer_note(turn: Turn, outcome: TurnOutcome) -> JournalNote:
    data: dict[str, JsonValue] = {
        "turn_number": turn.number,
        "participant_id": turn.planned.participant,
        "token_id": turn.grant.token,
        "text": "\n\n".join(draft.content for draft in outcome.messages),
    }
    return JournalNote("output.refused", data)


def _return_turn(
    runtime: Runtime,
    turn: Turn,
    line: str,
    *,
    delay_ms: int,
    notes: tuple[JournalNote, ...],
    agent: str = "",
) -> ScriptAnswer:
    answer = runtime.store.fail(
        turn.session_id,
        turn.grant,
        delay_ms=delay_ms,
        error=line,
        agent=agent,
        spent=turn.journal.accounts(),
        notes=notes,
    )
    is_returned = answer.word == "retried"
    turn.admission.record_end(answer, turn.own_usage, done=is_returned, keep_ms=delay_ms)
    count_end(runtime, turn, TurnOutcomeLabel.RETRIED, refused="" if is_returned else answer.word)
    return answer


def book_lost_turn(runtime: Runtime, turn: Turn) -> None:
    """Book the usage of a turn whose lease this worker has lost."""
    accounts = turn.journal.accounts()
    if not accounts and turn.admission.tenant is None:
        return
    try:
        answer = runtime.store.book_usage(turn.session_id, turn.grant, accounts)
    except StateError as error:
        log.warning(
            "recording the usage of turn %s of session %s failed: %s",
            turn.number,
            turn.session_id,
            error,
        )
        return
    turn.admission.record_end(answer, turn.own_usage, done=False)


def record_turn(runtime: Runtime, turn: Turn, result: TurnResult) -> None:
    """Store the record of a turn, if its session records its calls.

    A record that is too large is cut. If Redis is unavailable, the turn is written without a record.
    """
    recorder = turn.recorder
    if recorder is None:
        return
    token = turn.grant.token
    record = recorder.build(
        turn.planned, token=token, binding=turn.binding, result=result, journal=turn.journal
    )
    texts = (candidate.model_dump_json(exclude_defaults=True) for candidate in (record, record.cut()))
    store = RecordingStore(runtime.store.client)
    try:
        for text in texts:
            if len(text.encode()) <= MAX_TURN_BYTES and store.add(
                turn.session_id, token, text, keep_ms=runtime.limits.retention_ms
            ):
                return
        log.warning("turn %s of session %s: no room for its record", turn.number, turn.session_id)
    except (RedisError, StateError) as error:
        log.warning(
            "turn %s of session %s: storing its record failed, it cannot be replayed: %s",
            turn.number,
            turn.session_id,
            error,
        )


def refuse_output(runtime: Runtime, turn: Turn, outcome: TurnOutcome, faults: tuple[str, ...]) -> TurnEnd:
    """Apply the failure policy to a turn without a valid output; its text stays readable."""
    line = describe_faults(faults)
    log.warning("turn %s of session %s failed: %s", turn.number, turn.session_id, line)
    return apply_failure_policy(runtime, turn, line, said=outcome)
