"""Telling remote systems of their turns: every attempt is an event, and the sweep brings the next one."""

from __future__ import annotations

import logging

from ..agents.external import ExternalAgent
from ..models.errors import AgentError
from ..models.shown import excerpt
from ..models.waiting import Delivery
from ..state.parked import About, Rule
from .asked import Asked
from .runtime import Runtime
from .tending import give_up, tend
from .turn_end import TurnEnd, failed

log = logging.getLogger(__name__)

#: Seconds until the second attempt; each later wait is twice the one before, up to the last.
FIRST_RETRY_S = 5.0
LAST_RETRY_S = 3_600.0


def deliver(runtime: Runtime, asked: Asked, agent: ExternalAgent, delivery: Delivery) -> TurnEnd:
    """Tries once to tell a remote system of its turn."""
    attempt = delivery.attempts + 1
    try:
        agent.deliver(delivery)
    except AgentError as error:
        return _not_delivered(runtime, asked, agent, _tried(delivery, attempt), error)
    told = delivery.model_copy(update={"attempts": attempt, "delivered": True, "body": ""})
    word = _note(runtime, asked, told, "webhook.delivered", {**_whose(asked), "attempt": attempt})
    return TurnEnd(word, f"parked: webhook delivered, waits for {excerpt(', '.join(asked.waiting.asked))}")


def _not_delivered(
    runtime: Runtime, asked: Asked, agent: ExternalAgent, delivery: Delivery, error: AgentError
) -> TurnEnd:
    line, attempt = str(error)[:500], delivery.attempts
    log.warning("turn %s of %s not delivered: %s", asked.number, asked.facts.session_id, line)
    is_last = not error.retryable or attempt >= agent.entry.attempts
    retry_in_s = max(_backoff_s(attempt), min(error.retry_after_s or 0, LAST_RETRY_S))
    due_ms = asked.state.now_ms + int(retry_in_s * 1000)
    about: About = {**_whose(asked), "attempt": attempt, "error": line, "retried": not is_last}
    word = _note(runtime, asked, delivery.model_copy(update={"due_ms": due_ms}), "webhook.failed", about)
    if not is_last or word != "tended":
        return failed(word, f"not delivered: {line}", f"retried in {retry_in_s:g} s", is_last=False)
    return give_up(runtime, asked, f"not delivered: {line}", rule=Rule.FAILURE)


def _tried(delivery: Delivery, attempt: int) -> Delivery:
    return delivery.model_copy(update={"attempts": attempt})


def _whose(asked: Asked) -> dict[str, str]:
    """The record of a turn that was answered at once may be gone."""
    return {"participant_id": asked.record.participant}


def _backoff_s(attempt: int) -> float:
    return min(FIRST_RETRY_S * 2.0 ** min(attempt - 1, 20), LAST_RETRY_S)


def _note(runtime: Runtime, asked: Asked, delivery: Delivery, event: str, about: About) -> str:
    waiting = asked.waiting.model_copy(update={"delivery": delivery})
    return tend(runtime, asked, waiting, event=event, about=about, happened=True)
