"""Due work of parked turns: deliveries to remote systems, reminders, and missed deadlines.

The sweep sends the turn to a worker when work is due. The worker does the work and records it with the
time of the next check. Every delivery attempt is an event. After the deadline the policy of the wait
applies.
"""

from __future__ import annotations

import logging

from ...agents.kinds.external import ExternalAgent
from ...models.errors import AgentError, InvalidInput
from ...models.text.ids import new_id
from ...models.text.redact import excerpt
from ...models.turns.turn import OutcomeKind
from ...models.turns.waiting import RemoteDelivery, TimeoutAction
from ...state.sessions.records import SessionState
from ...state.turns.parked import (
    EventData,
    Inbox,
    InboxEntry,
    ReplyRule,
)
from ..runtime.parked_reports import report_dropped
from ..runtime.runtime import Runtime
from ..turns.results import FAILURE_EFFECTS, TurnEnd, summarize_failure
from ..views.outputs import describe_faults
from ..views.session_views import SessionFacts
from .addressees import may_ask_next
from .parked_turn import OpenQuestion, read_question
from .parked_work import fail_parked_turn, record_work, reminders_ms
from .replies import end_wait
from .subsessions.tending import tend_child

log = logging.getLogger(__name__)

#: Seconds until the second attempt; each later delay is twice the previous one, up to a maximum.
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
    delivered_request = delivery.model_copy(update={"attempts": attempt, "delivered": True, "body": ""})
    word = _note(
        runtime, asked, delivered_request, "webhook.delivered", {**_participant_of(asked), "attempt": attempt}
    )
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
    """Return the participant of a turn; its record may no longer exist if the answer came at once."""
    return {"participant_id": asked.record.participant}


def _backoff_s(attempt: int) -> float:
    return min(FIRST_RETRY_S * 2.0 ** min(attempt - 1, 20), LAST_RETRY_S)


def _note(
    runtime: Runtime, asked: OpenQuestion, delivery: RemoteDelivery, event: str, about: EventData
) -> str:
    waiting = asked.waiting.model_copy(update={"delivery": delivery})
    return record_work(runtime, asked, waiting, event=event, about=about, happened=True)


#: Maximum reassignments in one turn, because two participants that substitute each other would alternate
#: forever.
MOST_PASSED_ON = 8
_NO_ANSWER = "no answer in time"


def apply_deadline_policy(runtime: Runtime, asked: OpenQuestion) -> TurnEnd:
    """Apply the policy of a turn after its deadline has passed without an answer."""
    policy, waiting = asked.waiting.policy, asked.waiting
    match policy.then:
        case TimeoutAction.DEFAULT if faults := asked.find_output_faults(policy.default or ""):
            line = f"default answer: {describe_faults(faults)}"
            return fail_parked_turn(runtime, asked, line, rule=ReplyRule.DEADLINE)
        case TimeoutAction.DEFAULT:
            reply = asked.build_answer(policy.default, by=None, rule=ReplyRule.DEADLINE)
        case TimeoutAction.REASSIGN if waiting.is_own:
            return _reassign(runtime, asked)
        case TimeoutAction.REASSIGN if policy.to not in waiting.asked and may_ask_next(asked.facts, waiting):
            return _ask_another(runtime, asked, "turn.reassigned", (str(policy.to),), new_token=new_id())
        case TimeoutAction.ESCALATE if not waiting.escalated and may_ask_next(asked.facts, waiting):
            return _ask_another(runtime, asked, "turn.escalated", (*waiting.asked, str(policy.to)))
        case TimeoutAction.ESCALATE:
            return fail_parked_turn(runtime, asked, _NO_ANSWER, rule=ReplyRule.DEADLINE)
        case TimeoutAction.CANCEL:
            return _cancel(runtime, asked)
        case _:
            reply = asked.build_answer(None, by=None, rule=ReplyRule.DEADLINE)
    return TurnEnd(end_wait(runtime, asked, reply, _NO_ANSWER).word, _NO_ANSWER)


def _ask_another(
    runtime: Runtime, asked: OpenQuestion, event: str, names: tuple[str, ...], *, new_token: str | None = None
) -> TurnEnd:
    """Ask another participant, instead of the first or in addition, with the same time limit."""
    waiting = asked.waiting.model_copy(update={"asked": names, "escalated": True})
    number, session_id = asked.number, asked.facts.session_id
    inbox = Inbox(runtime.store.client)
    inbox.add([InboxEntry(session_id, number, name) for name in names], at_ms=asked.parking.parked_ms)
    until_ms = asked.state.now_ms + int((waiting.policy.deadline_s or 0) * 1000)
    about: EventData = {"asked": list(names)}
    word = record_work(
        runtime, asked, waiting, event=event, about=about, until_ms=until_ms, new_token=new_token
    )
    if word != "tended":
        return TurnEnd(word)
    inbox.remove(inbox_entry for inbox_entry in asked.inbox_entries() if inbox_entry.name not in names)
    return TurnEnd(word, f"parked: waiting for {excerpt(', '.join(names))}")


def _reassign(runtime: Runtime, asked: OpenQuestion) -> TurnEnd:
    if asked.waiting.passed_on >= MOST_PASSED_ON:
        line = f"reassigned {MOST_PASSED_ON} times without an answer"
        return fail_parked_turn(runtime, asked, line, rule=ReplyRule.DEADLINE)
    to = str(asked.waiting.policy.to)
    reply = asked.build_reassignment(to, outcome="reassigned", rule=ReplyRule.DEADLINE)
    summary = f"{_NO_ANSWER}; agent {to!r} takes over"
    return TurnEnd(end_wait(runtime, asked, reply, summary).word, summary)


def _cancel(runtime: Runtime, asked: OpenQuestion) -> TurnEnd:
    session_id, detail = asked.facts.session_id, f"{', '.join(asked.waiting.asked)} did not answer in time"
    state = runtime.store.cancel(
        session_id, reason="no_answer", detail=detail, retention_ms=runtime.limits.retention_ms
    )
    runtime.index.mark_cancelled(session_id)
    report_dropped(runtime.graph, state, state.records)
    Inbox(runtime.store.client).remove(asked.inbox_entries())
    return summarize_failure("cancelled", _NO_ANSWER, FAILURE_EFFECTS[OutcomeKind.FAILED], is_last=True)


def handle_due_work(runtime: Runtime, facts: SessionFacts, state: SessionState, number: int) -> TurnEnd:
    """Do the due work of a parked turn."""
    asked = read_question(facts, state, number)
    if asked is None:
        return TurnEnd("gone")
    if asked.parking.until_ms is not None and state.now_ms >= asked.parking.until_ms:
        return apply_deadline_policy(runtime, asked)
    if asked.waiting.child is not None:
        return tend_child(runtime, asked, asked.waiting.child)
    delivery = asked.waiting.delivery
    if delivery is not None and not delivery.delivered and state.now_ms >= delivery.due_ms:
        agent = _remote_agent(runtime, asked)
        if agent is not None:
            return deliver_turn(runtime, asked, agent, delivery)
    return _remind(runtime, asked)


def _remote_agent(runtime: Runtime, asked: OpenQuestion) -> ExternalAgent | None:
    """Return the remote system that has the turn; None: this worker does not know it."""
    binding = asked.facts.spec.agents[asked.record.participant].with_agent(asked.record.agent)
    try:
        agent = runtime.registry.get_agent(binding)
    except (AgentError, InvalidInput):
        return None
    return agent if isinstance(agent, ExternalAgent) else None


def _remind(runtime: Runtime, asked: OpenQuestion) -> TurnEnd:
    """Record all due reminders as one."""
    since_ms = asked.state.now_ms - asked.parking.parked_ms
    reminded = sum(1 for after_ms in reminders_ms(asked.waiting) if after_ms <= since_ms)
    if reminded == asked.waiting.reminded:
        return TurnEnd("waiting")
    waiting = asked.waiting.model_copy(update={"reminded": reminded})
    about: EventData = {"asked": list(waiting.asked), "reminder": reminded}
    word = record_work(runtime, asked, waiting, event="turn.reminded", about=about)
    return TurnEnd(word, "parked: reminded of the question")
