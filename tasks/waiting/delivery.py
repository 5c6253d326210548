"""Delivery of turns to remote systems: every attempt is an event, and the sweep starts the next one.

Attempts are minutes or hours apart, on different workers, so a retry loop of tenacity cannot be used.
"""

from __future__ import annotations

import logging

from ...agents.remote.agent import ExternalAgent
from ...models.errors import AgentError
from ...models.text.redact import excerpt
from ...models.turns.waiting import RemoteDelivery
from ...state.turns.parked import EventData, ReplyRule
from ..runtime.runtime import Runtime
from ..turns.summary import TurnEnd, summarize_failure
from .parked_turn import OpenQuestion
from .tending import fail_parked_turn, record_work

log = logging.getLogger(__name__)

#: Seconds until the second attempt; each later wait is twice the one before, up to a maximum.
FIRST_RETRY_S = 5.0
LAST_RETRY_S = 3_600.0


def deliver_turn(
    runtime: Runtime, asked: OpenQuestion, agent: ExternalAgent, delivery: RemoteDelivery
) -> TurnEnd:
    """Try once to deliver a turn to its remote system."""
    attempt = delivery.attempts + 1
    try:
        agent.deliver(delivery)
    except AgentError as error:
        return _not_delivered(runtime, asked, agent, _tried(delivery, attempt), error)
    told = delivery.model_copy(update={"attempts": attempt, "delivered": True, "body": ""})
    word = _note(runtime, asked, told, "webhook.delivered", {**_participant_of(asked), "attempt": attempt})
    return TurnEnd(word, f"parked: webhook delivered, waiting for {excerpt(', '.join(asked.waiting.asked))}")


def _not_delivered(
    runtime: Runtime, asked: OpenQuestion, agent: ExternalAgent, delivery: RemoteDelivery, error: AgentError
) -> TurnEnd:
    line, attempt = str(error)[:500], delivery.attempts
    log.warning("delivery of turn %s of %s failed: %s", asked.number, asked.facts.session_id, line)
    is_last = not error.retryable or attempt >= agent.entry.attempts
    retry_in_s = max(_backoff_s(attempt), min(error.retry_after_s or 0, LAST_RETRY_S))
    due_ms = asked.state.now_ms + int(retry_in_s * 1000)
    about: EventData = {**_participant_of(asked), "attempt": attempt, "error": line, "retried": not is_last}
    word = _note(runtime, asked, delivery.model_copy(update={"due_ms": due_ms}), "webhook.failed", about)
    if not is_last or word != "tended":
        return summarize_failure(
            word, f"not delivered: {line}", f"retried in {retry_in_s:g} s", is_last=False
        )
    return fail_parked_turn(runtime, asked, f"not delivered: {line}", rule=ReplyRule.FAILURE)


def _tried(delivery: RemoteDelivery, attempt: int) -> RemoteDelivery:
    return delivery.model_copy(update={"attempts": attempt})


def _participant_of(asked: OpenQuestion) -> dict[str, str]:
    """Return the participant of a turn; its record may be gone if the answer came at once."""
    return {"participant_id": asked.record.participant}


def _backoff_s(attempt: int) -> float:
    return min(FIRST_RETRY_S * 2.0 ** min(attempt - 1, 20), LAST_RETRY_S)


def _note(
    runtime: Runtime, asked: OpenQuestion, delivery: RemoteDelivery, event: str, about: EventData
) -> str:
    waiting = asked.waiting.model_copy(update={"delivery": delivery})
    return record_work(runtime, asked, waiting, event=event, about=about, happened=True)
