"""Turns that wait for a provider's batch: checks of the batch, its cancellation, and the return to the workers.

A batch has the requests of several turns. It is cancelled when the last of them is dropped.
"""

from __future__ import annotations

import logging
import time
from typing import Literal, cast

from ...agents.agent import BatchAgent
from ...models.errors import AgentError, AgentFailed, AgentTimeout, InvalidInput
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
#: Seconds without such requests after one that a model's provider did not answer in time: each would block a worker,
#: or the sweep, for as long again.
PAUSE_S = 60.0
WAITING = "parked: waiting for the provider's batch"
#: End of the pause of a method and a model of the registry, in seconds of `time.monotonic`.
_pauses: dict[tuple[str, str], float] = {}


def batch_id(handle: str) -> str:
    """Return the provider's id of a batch."""
    return str(parse_json(handle)["batch"]["id"])


def check_batch(runtime: Runtime, parked: ParkedTurn, checks: BatchChecks) -> TurnEnd:
    """Return the turn to the workers if its batch has ended; otherwise set the time of the next check.

    If the batch cannot be read for good, the turn is returned, too: its next attempt fails with the reason.
    """
    handle, session_id = parked.waiting.question.batch, parked.facts.session_id
    try:
        has_ended = _call(runtime, parked.facts, parked.record, "has_batch_ended", handle)
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
    turn = (batch_id(handle), facts.session_id, record.number)
    if members.is_last(*turn):  # it stays until the provider has answered: this worker may die before
        _cancel(runtime, facts, record, handle)
        members.remove(*turn)
    elif members.remove(*turn):  # another turn has left in the meantime
        _cancel(runtime, facts, record, handle)


def _cancel(runtime: Runtime, facts: SessionFacts, record: TurnRecord, handle: str) -> None:
    try:
        _call(runtime, facts, record, "cancel_batch", handle)
    except AgentError as error:
        log.warning(
            "cancelling the batch of turn %s of %s failed: %s", record.number, facts.session_id, error
        )


def _call(
    runtime: Runtime,
    facts: SessionFacts,
    record: TurnRecord,
    method: Literal["has_batch_ended", "cancel_batch"],
    handle: str,
) -> bool:
    """Call a method of a turn's agent; return whether the batch has ended.

    Raises:
        AgentTimeout: The provider does not answer, or did not within the last `PAUSE_S` seconds.
        AgentError: The call failed.
    """
    binding = facts.spec.agents[record.participant].with_agent(record.agent)
    try:
        agent = runtime.agents.registry.get_agent(binding)
    except InvalidInput as error:
        raise AgentFailed(str(error)) from error
    if not hasattr(agent, "has_batch_ended"):
        raise AgentFailed(f"agent {binding.agent!r} has no batches now", retryable=False)
    pause = (method, str(parse_json(handle).get("entry", "")))
    if time.monotonic() < _pauses.get(pause, 0):
        raise AgentTimeout("the provider did not answer within the last minute")
    try:
        called = getattr(cast("BatchAgent", agent), method)(handle)
        return bool(runtime.agents.runner.call(called, timeout_s=REQUEST_TIMEOUT_S))
    except AgentTimeout:
        _pauses[pause] = time.monotonic() + PAUSE_S
        raise
