"""Due work of parked turns: deliveries to remote systems, reminders, and missed deadlines.

The sweep sends the turn to a worker when work is due. The worker does the work and records it with the
time of the next check. Every delivery attempt is an event. After the deadline the policy of the wait
applies.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ...agents.kinds.external import ExternalAgent
from ...models.errors import AgentError, InvalidInput
from ...models.text.ids import new_id
from ...models.text.redact import excerpt
from ...models.turns.turn import OutcomeKind
from ...models.turns.waiting import ParkedQuestion, RemoteDelivery, TimeoutAction
from ...state.notices import NoticeIndex
from ...state.sessions.records import SessionState
from ...state.turns.parked import EventData, Inbox, InboxEntry, ReplyRule
from ..runtime.graph import report_dropped
from ..runtime.runtime import Runtime
from ..turns.results import FAILURE_EFFECTS, TurnEnd, describe_faults, summarize_failure
from ..views.session_views import SessionFacts
from .model_batches import check_batch
from .parked_turn import ParkedTurn, read_question
from .replies import end_wait, escalation_ms, fail_parked_turn, record_work, reminders_ms
from .subsessions.opening import tend_child

log = logging.getLogger(__name__)

#: Seconds until the second attempt; each later delay is twice the previous one, up to a maximum.
FIRST_RETRY_S = 5.0
LAST_RETRY_S = 3_600.0
#: Milliseconds that it takes at most to park a turn, in general.
_PARKING_MS = 10_000


def deliver_turn(
    runtime: Runtime, parked: ParkedTurn, agent: ExternalAgent, delivery: RemoteDelivery
) -> TurnEnd:
    """Try once to deliver a turn to its remote system."""
    attempt = delivery.attempts + 1
    try:
        agent.deliver(delivery)
    except AgentError as error:
        tried = delivery.model_copy(update={"attempts": attempt})
        return _not_delivered(runtime, parked, agent, tried, error)
    delivered = delivery.model_copy(update={"attempts": attempt, "delivered": True, "body": ""})
    about: EventData = {**_participant_of(parked), "attempt": attempt}
    word = _note(runtime, parked, delivered, "webhook.delivered", about)
    return TurnEnd(word, f"parked: webhook delivered, waiting for {excerpt(', '.join(parked.waiting.asked))}")


def _not_delivered(
    runtime: Runtime, parked: ParkedTurn, agent: ExternalAgent, delivery: RemoteDelivery, error: AgentError
) -> TurnEnd:
    line, attempt = str(error)[:500], delivery.attempts
    log.warning("delivery of turn %s of %s failed: %s", parked.number, parked.facts.session_id, line)
    is_last = not error.retryable or attempt >= agent.entry.attempts
    retry_in_s = max(_backoff_s(attempt), min(error.retry_after_s or 0, LAST_RETRY_S))
    due_ms = parked.state.now_ms + int(retry_in_s * 1000)
    about: EventData = {**_participant_of(parked), "attempt": attempt, "error": line, "retried": not is_last}
    word = _note(runtime, parked, delivery.model_copy(update={"due_ms": due_ms}), "webhook.failed", about)
    if not is_last or word != "tended":
        return summarize_failure(
            word, f"not delivered: {line}", f"retried in {retry_in_s:g} s", is_last=False
        )
    return fail_parked_turn(runtime, parked, f"not delivered: {line}", rule=ReplyRule.FAILURE)


def _participant_of(parked: ParkedTurn) -> dict[str, str]:
    """Return the participant of a turn; its record may no longer exist if the answer came at once."""
    return {"participant_id": parked.record.participant}


def _backoff_s(attempt: int) -> float:
    return min(FIRST_RETRY_S * 2.0 ** min(attempt - 1, 20), LAST_RETRY_S)


def _note(
    runtime: Runtime, parked: ParkedTurn, delivery: RemoteDelivery, event: str, about: EventData
) -> str:
    waiting = parked.waiting.model_copy(update={"delivery": delivery})
    return record_work(runtime, parked, waiting, event=event, about=about, happened=True)


#: Maximum reassignments in one turn, because two participants that substitute each other would alternate
#: forever.
MAX_REASSIGNMENTS = 8
_NO_ANSWER = "no answer in time"


def apply_deadline_policy(runtime: Runtime, parked: ParkedTurn) -> TurnEnd:
    """Apply the policy of a turn after its deadline has passed without an answer."""
    policy, waiting = parked.waiting.policy, parked.waiting
    match policy.then:
        case TimeoutAction.DEFAULT if faults := parked.find_output_faults(policy.default or ""):
            line = f"default answer: {describe_faults(faults)}"
            return fail_parked_turn(runtime, parked, line, rule=ReplyRule.DEADLINE)
        case TimeoutAction.DEFAULT:
            reply = parked.build_answer(policy.default, by=None, rule=ReplyRule.DEADLINE)
        case TimeoutAction.REASSIGN if waiting.is_own:
            return _reassign(runtime, parked)
        # Not `policy.to in waiting.asked`: `escalate_to` may have added the same person before the deadline.
        case TimeoutAction.REASSIGN if not (
            waiting.escalated or waiting.asked == (policy.to,)
        ) and may_ask_next(parked.facts, waiting):
            return _ask_another(runtime, parked, "turn.reassigned", (str(policy.to),), new_token=new_id())
        case TimeoutAction.ESCALATE if not waiting.escalated and may_ask_next(parked.facts, waiting):
            names = tuple(dict.fromkeys((*waiting.asked, str(policy.to))))
            return _ask_another(runtime, parked, "turn.escalated", names)
        case TimeoutAction.ESCALATE:
            return fail_parked_turn(runtime, parked, _NO_ANSWER, rule=ReplyRule.DEADLINE)
        case TimeoutAction.CANCEL:
            return _cancel(runtime, parked)
        case _:
            reply = parked.build_answer(None, by=None, rule=ReplyRule.DEADLINE)
    return TurnEnd(end_wait(runtime, parked, reply, _NO_ANSWER).word, _NO_ANSWER)


def _ask_another(
    runtime: Runtime, parked: ParkedTurn, event: str, names: tuple[str, ...], *, new_token: str | None = None
) -> TurnEnd:
    """Ask another participant after the deadline, instead of the first or in addition, with the same time limit."""
    waiting = parked.waiting.model_copy(update={"asked": names, "escalated": True})
    until_ms = parked.state.now_ms + int((waiting.policy.deadline_s or 0) * 1000)
    return _ask(runtime, parked, waiting, event=event, until_ms=until_ms, new_token=new_token)


def _ask_next_person(runtime: Runtime, parked: ParkedTurn, to: str) -> TurnEnd:
    """Let the person of `escalate_to` answer, too; the deadline and the policy for it stay."""
    waiting = parked.waiting
    if waiting.is_decision and to in parked.facts.spec.observers:  # observers decide nothing
        policy = waiting.policy.model_copy(update={"escalate_after_s": None, "escalate_to": None})
        waiting = waiting.model_copy(update={"policy": policy})
        return TurnEnd(record_work(runtime, parked, waiting, event="", about={}))
    waiting = waiting.model_copy(update={"asked": (*waiting.asked, to)})
    return _ask(runtime, parked, waiting, event="turn.escalated", until_ms=parked.parking.until_ms)


def _ask(
    runtime: Runtime,
    parked: ParkedTurn,
    waiting: ParkedQuestion,
    *,
    event: str,
    until_ms: int | None,
    new_token: str | None = None,
) -> TurnEnd:
    """Record who may answer from now on."""
    names, session_id = waiting.asked, parked.facts.session_id
    add_to_inbox(
        runtime, [InboxEntry(session_id, parked.number, name) for name in names], parked.parking.parked_ms
    )
    about: EventData = {"asked": list(names)}
    word = record_work(
        runtime, parked, waiting, event=event, about=about, until_ms=until_ms, new_token=new_token
    )
    if word != "tended":
        return TurnEnd(word)
    announce(runtime, session_id)
    closed = (inbox_entry for inbox_entry in parked.inbox_entries() if inbox_entry.name not in names)
    Inbox(runtime.store.client).remove(closed)
    return TurnEnd(word, f"parked: waiting for {excerpt(', '.join(names))}")


def add_to_inbox(runtime: Runtime, entries: Sequence[InboxEntry], asked_ms: int) -> None:
    """Add questions to the inboxes of people, and to the index of those whose notices are due."""
    client = runtime.store.client
    Inbox(client).add(entries, at_ms=asked_ms)
    if entries:
        # After the time that parking takes: if this process is lost, a worker finds the question then.
        announce(runtime, entries[0].session_id, in_ms=_PARKING_MS)


def announce(runtime: Runtime, session_id: str, *, in_ms: int = 0) -> None:
    """Let a worker check the notices to people about the questions of a session."""
    if runtime.agents.registry.people:
        NoticeIndex(runtime.store.client).add(session_id, in_ms=in_ms)


def _reassign(runtime: Runtime, parked: ParkedTurn) -> TurnEnd:
    if parked.waiting.passed_on >= MAX_REASSIGNMENTS:
        line = f"reassigned {MAX_REASSIGNMENTS} times without an answer"
        return fail_parked_turn(runtime, parked, line, rule=ReplyRule.DEADLINE)
    to = str(parked.waiting.policy.to)
    reply = parked.build_reassignment(to, outcome="reassigned", rule=ReplyRule.DEADLINE)
    summary = f"{_NO_ANSWER}; agent {to!r} takes over"
    return TurnEnd(end_wait(runtime, parked, reply, summary).word, summary)


def _cancel(runtime: Runtime, parked: ParkedTurn) -> TurnEnd:
    session_id, detail = parked.facts.session_id, f"{', '.join(parked.waiting.asked)} did not answer in time"
    state = runtime.store.cancel(
        session_id, reason="no_answer", detail=detail, retention_ms=runtime.limits.retention_ms
    )
    runtime.index.mark_cancelled(session_id)
    report_dropped(runtime.graph, state, state.records)
    Inbox(runtime.store.client).remove(parked.inbox_entries())
    return summarize_failure("cancelled", _NO_ANSWER, FAILURE_EFFECTS[OutcomeKind.FAILED], is_last=True)


def handle_due_work(runtime: Runtime, facts: SessionFacts, state: SessionState, number: int) -> TurnEnd:
    """Do the due work of a parked turn."""
    parked = read_question(facts, state, number)
    if parked is None:
        return TurnEnd("gone")
    if parked.parking.until_ms is not None and state.now_ms >= parked.parking.until_ms:
        return apply_deadline_policy(runtime, parked)
    if parked.waiting.batch_checks is not None:
        return check_batch(runtime, parked, parked.waiting.batch_checks)
    if parked.waiting.child is not None:
        return tend_child(runtime, parked, parked.waiting.child)
    delivery = parked.waiting.delivery
    if delivery is not None and not delivery.delivered and state.now_ms >= delivery.due_ms:
        agent = _remote_agent(runtime, parked)
        if agent is not None:
            return deliver_turn(runtime, parked, agent, delivery)
    escalate_in_ms = escalation_ms(parked.waiting)
    if escalate_in_ms is not None and state.now_ms >= parked.parking.parked_ms + escalate_in_ms:
        return _ask_next_person(runtime, parked, str(parked.waiting.next_person))
    return _remind(runtime, parked)


def _remote_agent(runtime: Runtime, parked: ParkedTurn) -> ExternalAgent | None:
    """Return the remote system that has the turn; None: this worker does not know it."""
    binding = parked.facts.spec.agents[parked.record.participant].with_agent(parked.record.agent)
    try:
        agent = runtime.agents.registry.get_agent(binding)
    except (AgentError, InvalidInput):
        return None
    return agent if isinstance(agent, ExternalAgent) else None


def _remind(runtime: Runtime, parked: ParkedTurn) -> TurnEnd:
    """Record all due reminders as one."""
    since_ms = parked.state.now_ms - parked.parking.parked_ms
    reminded = sum(1 for after_ms in reminders_ms(parked.waiting) if after_ms <= since_ms)
    if reminded == parked.waiting.reminded:
        return TurnEnd("waiting")
    waiting = parked.waiting.model_copy(update={"reminded": reminded})
    about: EventData = {"asked": list(waiting.asked), "reminder": reminded}
    word = record_work(runtime, parked, waiting, event="turn.reminded", about=about)
    return TurnEnd(word, "parked: reminded of the question")


def may_ask_next(facts: SessionFacts, waiting: ParkedQuestion) -> bool:
    """Return whether the question may be passed to the next person of its policy: observers decide nothing."""
    return not (waiting.is_decision and waiting.policy.to in facts.spec.observers)
