"""Turns that wait for a provider's batch: checks of the batch, its cancellation, and the return to the workers.

A batch has the requests of several turns. It is cancelled when the last of them is dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from ...agents.agent import BatchAgent
from ...models.errors import AgentError, AgentFailed, InvalidInput
from ...models.text.json_text import parse_json
from ...models.turns.waiting import BatchChecks
from ...state.sessions.records import SessionState
from ...state.sessions.turn_records import TurnRecord
from ...state.turns.batch_members import BatchMembers
from ..runtime.runtime import Runtime
from ..turns.results import TurnEnd
from ..views.session_views import SessionFacts
from .parked_turn import ParkedTurn
from .replies import end_wait, record_work

log = logging.getLogger(__name__)

#: Milliseconds until the first check of a batch; each later delay is half as long again, up to a maximum.
FIRST_CHECK_MS = 4_000
LAST_CHECK_MS = 300_000
#: Seconds for a request to the provider.
REQUEST_TIMEOUT_S = 20.0
WAITING = "parked: waiting for the provider's batch"


T = TypeVar("T")


def batch_id(handle: str) -> str:
    """Return the provider's id of a batch."""
    return str(parse_json(handle)["batch"]["id"])


def check_batch(runtime: Runtime, parked: ParkedTurn, checks: BatchChecks) -> TurnEnd:
    """Return the turn to the workers if its batch has ended; otherwise set the time of the next check.

    If the batch cannot be read for good, the turn is returned, too: its next attempt fails with the reason.
    """
    handle, session_id = parked.waiting.question.batch, parked.facts.session_id
    try:
        has_ended = _call(runtime, parked.facts, parked.record, lambda agent: agent.has_batch_ended(handle))
    except AgentError as error:
        log.warning("checking the batch of turn %s of %s failed: %s", parked.number, session_id, error)
        has_ended = not error.retryable
    if has_ended:
        word = end_wait(runtime, parked, parked.build_resumption(), "the provider's batch has ended").word
        BatchMembers(runtime.store.client).remove(batch_id(handle), session_id, parked.number)
        return TurnEnd(word, "the provider's batch has ended")
    delay_ms = min(FIRST_CHECK_MS * 1.5 ** min(checks.count + 1, 30), LAST_CHECK_MS)
    later = BatchChecks(count=checks.count + 1, due_ms=parked.state.now_ms + int(delay_ms))
    waiting = parked.waiting.model_copy(update={"batch_checks": later})
    return TurnEnd(record_work(runtime, parked, waiting, event="", about={}), WAITING)


def cancel_batches(runtime: Runtime, state: SessionState) -> None:
    """Cancel the batches of dropped turns for which no other turn waits. A repeated call does no harm."""
    for record in state.records.all():
        if record.status == "dropped" and record.batch is not None:
            facts = runtime.sessions.facts.get_for_state(state.session_id, state)
            leave_batch(runtime, facts, record, record.batch)


def leave_batch(runtime: Runtime, facts: SessionFacts, record: TurnRecord, handle: str) -> None:
    """Cancel a batch for which a turn no longer waits, if no other turn waits for it; an error is logged."""
    members = BatchMembers(runtime.store.client)
    if not members.remove(batch_id(handle), facts.session_id, record.number):
        return
    try:
        _call(runtime, facts, record, lambda agent: agent.cancel_batch(handle))
    except AgentError as error:
        log.warning(
            "cancelling the batch of turn %s of %s failed: %s", record.number, facts.session_id, error
        )


def _call(
    runtime: Runtime,
    facts: SessionFacts,
    record: TurnRecord,
    method: Callable[[BatchAgent], Coroutine[Any, Any, T]],
) -> T:
    """Call the agent of a turn. Raises AgentError."""
    binding = facts.spec.agents[record.participant].with_agent(record.agent)
    try:
        agent = runtime.agents.registry.get_agent(binding)
    except InvalidInput as error:
        raise AgentFailed(str(error)) from error
    if not hasattr(agent, "has_batch_ended"):
        raise AgentFailed(f"agent {binding.agent!r} has no batches now", retryable=False)
    return runtime.agents.runner.call(method(cast("BatchAgent", agent)), timeout_s=REQUEST_TIMEOUT_S)
