"""Parking of turns that wait for an answer, because their agent ended with a question.

A parked turn costs only its record, and an entry in the inbox of each person who may answer.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from pydantic import JsonValue

from ...agents.agent import AnyAgent
from ...agents.kinds.external import DeferredAgent, ExternalAgent
from ...agents.kinds.human import HumanAgent
from ...agents.kinds.session import SessionAgent
from ...models.errors import AgentError, BadOutcome, InvalidInput
from ...models.metrics import TurnOutcomeLabel
from ...models.sessions.options import AgentBinding
from ...models.text.ids import new_id
from ...models.text.redact import excerpt, scrub_secrets
from ...models.turns.turn import Question, TurnContext, TurnOutcome
from ...models.turns.waiting import (
    AddedMessage,
    Awaits,
    BatchChecks,
    ChildSession,
    GuardHold,
    ParkedQuestion,
    RemoteDelivery,
    WaitPolicy,
)
from ...state.redis.readers import server_ms
from ...state.sessions.records import ScriptAnswer
from ...state.sessions.requests import JournalNote
from ...state.turns.batch_members import BatchMembers
from ...state.turns.parked import FAR_MS, EventData, InboxEntry, ParkedTurnStore
from ..runtime.reporting import report_question
from ..runtime.runtime import Runtime
from ..turns.results import TurnEnd
from ..turns.turn import Turn, count_end, retry_during_outage
from ..views.session_views import SessionFacts
from .due_work import add_to_inbox, announce, deliver_turn
from .model_batches import FIRST_CHECK_MS, WAITING, batch_id, leave_batch
from .parked_turn import ParkedTurn, read_question
from .replies import escalation_ms, reminders_ms, request_planning
from .subsessions.opening import find_session, open_child, plan_child, reservation_of_child

#: Maximum questions of an agent in one turn, so that an agent that always asks comes to an end.
MAX_QUESTIONS = 20
#: Milliseconds after the deadline of a parked turn for which its call journal is kept.
CALLS_GRACE_MS = 86_400_000
#: Characters of a question that its event contains.
_MAX_EVENT_TEXT = 500


def park_turn(
    runtime: Runtime,
    turn: Turn,
    context: TurnContext,
    outcome: TurnOutcome,
    *,
    hold: GuardHold | None = None,
    notes: tuple[JournalNote, ...] = (),
) -> TurnEnd:
    """Park a turn with the question of its agent, and deliver it if its agent is a remote system.

    During a Redis outage, retry until the deadline of the turn, because the question is paid for.

    Args:
        runtime: The runtime of this process.
        turn: The turn.
        context: What its agent was given.
        outcome: The answer with the question.
        hold: What a guard holds until a person decides; None: the agent itself asks.
        notes: Events that are written with the question.

    Raises:
        BadOutcome: The question names no person to ask.
        StateError: The live state in Redis cannot be read or changed.
    """
    agent = runtime.agents.registry.get_agent(turn.binding)
    reply_token = new_id()
    waiting = _waiting(runtime, turn, agent, outcome, hold)
    is_remote = isinstance(agent, ExternalAgent) and waiting.is_own
    if isinstance(agent, ExternalAgent) and is_remote:
        delivery = _delivery(agent, turn, context, waiting, reply_token)
        waiting = waiting.model_copy(update={"delivery": delivery})
    child = _child(runtime, turn, context, agent, waiting)
    waiting = waiting.model_copy(update={"child": child})
    inbox_entries = [InboxEntry(turn.session_id, turn.number, name) for name in waiting.asked]
    deadline_s = waiting.policy.deadline_s
    until_in_ms = None if deadline_s is None else int(deadline_s * 1000)
    tended_in_ms = runtime.limits.lease_ms if is_remote or child else FAR_MS
    batch = waiting.question.batch
    if batch:
        tended_in_ms = FIRST_CHECK_MS
        BatchMembers(runtime.store.client).add(batch_id(batch), turn.session_id, turn.number)
    park = partial(
        ParkedTurnStore(runtime.store.client).park,
        turn.session_id,
        turn.grant,
        reply_token=reply_token,
        wait=waiting.model_dump_json(exclude_defaults=True),
        until_in_ms=until_in_ms,
        wake_in_ms=min(
            until_in_ms or FAR_MS, *reminders_ms(waiting), escalation_ms(waiting) or FAR_MS, tended_in_ms
        ),
        about=question_data(waiting),
        spent={**turn.journal.accounts(), turn.grant.token: outcome.usage},
        task=turn.task,
        child=None if child is None else reservation_of_child(child),
        batch=batch,
        notes=notes,
    )

    def write() -> ScriptAnswer:
        add_to_inbox(runtime, inbox_entries, server_ms(runtime.store.client))
        # Twice the time: without an answer, the next person gets as much time as the first.
        turn.journal.extend_ttl(CALLS_GRACE_MS + 2 * (until_in_ms or FAR_MS))
        return park()

    what = f"question of turn {turn.number} of {turn.session_id}"
    answer = retry_during_outage(write, until=turn.write_deadline, what=what)
    is_parked = answer.word == "parked"
    turn.admission.record_end(answer, outcome.usage, done=is_parked)
    count_end(runtime, turn, TurnOutcomeLabel.PARKED, refused="" if is_parked else answer.word)
    parked = None if answer.state is None else read_question(turn.facts, answer.state, turn.number)
    if batch and not is_parked and answer.word != "stale":  # the turn is not needed any more
        leave_batch(runtime, turn.facts, turn.record, batch)
    if parked is None:
        # Keep the inbox entries, because another worker may have parked this turn; readers remove stale
        # entries.
        return TurnEnd(answer.word)
    end = _start_wait(runtime, parked, agent, answer.word)
    # If this worker dies before, the sweep does it: it checks the session when the lease of the turn ends.
    report_question(runtime, parked.facts, parked.state, parked.number)
    return end


def _start_wait(runtime: Runtime, parked: ParkedTurn, agent: AnyAgent, word: str) -> TurnEnd:
    """Do the first work of a turn that was parked with the answer `word`."""
    runtime.index.set_due_by(parked.facts.session_id, parked.parking.wake_ms)
    # Closed turns and a requested stop do not wait for the answer.
    if parked.state.unconsumed() or parked.state.stop_requested:
        request_planning(runtime, parked.state)
    if parked.waiting.child is not None:
        end = open_child(runtime, parked, parked.waiting.child)
        return replace(end, awaits=Awaits.SESSION) if end.word in ("tended", "parked") else end
    if isinstance(agent, ExternalAgent) and parked.waiting.delivery is not None:
        end = deliver_turn(runtime, parked, agent, parked.waiting.delivery)
        return end if end.failed else replace(end, awaits=Awaits.REMOTE)
    if parked.waiting.question.batch:
        return TurnEnd(word, WAITING, awaits=Awaits.REMOTE)
    announce(runtime, parked.facts.session_id)
    summary = f"parked: waiting for {excerpt(', '.join(parked.waiting.asked))}"
    return TurnEnd(word, summary, awaits=Awaits.HUMAN)


def question_data(waiting: ParkedQuestion) -> EventData:
    """Return what the events of a question say about it."""
    text = waiting.question.text
    if waiting.hold is not None and waiting.is_for_guard:
        text = f"guard {waiting.hold.guard!r}: {waiting.hold.reason}"  # an answer that may be refused is not recorded
    text = text[:_MAX_EVENT_TEXT]
    if waiting.child is not None:
        return {"session_id": waiting.child.session_id, "question": text}
    if waiting.question.batch:
        return {"batch": batch_id(waiting.question.batch)}
    about: dict[str, JsonValue] = {"asked": list(waiting.asked), "question": text}
    return {**about, "tool": waiting.question.tool} if waiting.question.is_for_approval else about


def _child(
    runtime: Runtime, turn: Turn, context: TurnContext, agent: AnyAgent, waiting: ParkedQuestion
) -> ChildSession | None:
    """Return the sub-session that the turn is about to wait for; None: it waits for a person or a remote system."""
    question = waiting.question
    if question.session is not None:
        session = find_session(runtime, question.session)
    elif waiting.is_own and isinstance(agent, SessionAgent):
        session = agent
    else:
        return None
    return plan_child(runtime, turn, context, session, question)


def _waiting(
    runtime: Runtime, turn: Turn, agent: AnyAgent, outcome: TurnOutcome, hold: GuardHold | None
) -> ParkedQuestion:
    question = outcome.question
    assert question is not None  # noqa: S101 - only a turn with a question is parked
    if question.is_for_approval:  # the agent knows its own secrets only
        scrubbed = scrub_secrets(question.text, runtime.agents.services.secrets)
        question = question.model_copy(update={"text": scrubbed})
    if question.batch and not hasattr(agent, "has_batch_ended"):
        raise BadOutcome("question.batch: must be empty, except for an agent with batches")
    me = turn.planned.participant
    is_call = question.session is not None or question.is_for_approval or bool(question.batch)
    is_own = isinstance(agent, DeferredAgent) and question.to == me and not is_call and hold is None
    before = turn.waiting or ParkedQuestion(question=question)
    if len(before.answers) >= MAX_QUESTIONS:
        raise BadOutcome(f"question: exceeds the limit of {MAX_QUESTIONS} questions in a turn")
    addressees: tuple[str, ...] = (question.to,)
    if question.batch or question.session is not None or (is_own and isinstance(agent, SessionAgent)):
        addressees = ()  # a sub-session or a provider answers
    elif is_own:
        addressees = (turn.grant.substitute or me,)
    policy = _wait_policy(runtime, turn, agent, question, is_own=is_own, is_held=hold is not None)
    person = runtime.agents.registry.people.get(addressees[0]) if addressees else None
    return ParkedQuestion(
        question=question,
        is_own=is_own,
        asked=addressees,
        policy=policy if person is None else person.complete(policy),
        passed_on=before.passed_on,
        batch_checks=BatchChecks() if question.batch else None,
        answers=before.answers,
        hold=hold or _without_answer(before.hold),
        lines=(*before.lines, *(AddedMessage(speaker=me, draft=draft) for draft in outcome.messages)),
    )


def _without_answer(hold: GuardHold | None) -> GuardHold | None:
    """Return a hold without its answer, which was approved and is the question that is asked now.

    A hold without a decision is that of an agent whose turn went to its substitute: None.
    """
    return None if hold is None or hold.verdict is None else hold.model_copy(update={"outcome": None})


def _wait_policy(
    runtime: Runtime, turn: Turn, agent: AnyAgent, question: Question, *, is_own: bool, is_held: bool
) -> WaitPolicy:
    if question.session is not None or question.batch:
        return WaitPolicy(deadline_s=None)  # a sub-session or a batch ends by itself
    if is_own and isinstance(agent, DeferredAgent):
        return agent.wait
    _check_asked(turn.facts, question, decides=is_held or question.is_for_approval)
    return _wait_policy_of(runtime, turn.facts, question.to)


def _delivery(
    agent: ExternalAgent, turn: Turn, context: TurnContext, waiting: ParkedQuestion, reply_token: str
) -> RemoteDelivery:
    """Return the payload for a remote system; it is the same at every attempt."""
    deadline_s = waiting.policy.deadline_s
    until = None if deadline_s is None else datetime.fromtimestamp(turn.state.now_ms / 1000 + deadline_s, UTC)
    body = agent.build_payload(context, reply_token=reply_token, until=until)
    return RemoteDelivery(message_id=new_id(), body=body)


def _check_asked(facts: SessionFacts, question: Question, *, decides: bool) -> None:
    """Check that a person may be asked.

    They are participants of kind human, approvers, and observers, who decide nothing. After a deadline,
    `may_ask_next` applies.

    Args:
        facts: The session.
        question: The question.
        decides: The answer approves or refuses something.

    Raises:
        BadOutcome: The person may not be asked this.
    """
    spec = facts.spec
    people = [name for name in facts.people if not (decides and name in spec.observers)]
    if question.to in people:
        return
    names = ", ".join(people) or "none exist"
    kinds = ["a participant of kind human", *(["an approver"] if spec.approvers else [])]
    kinds += ["an observer"] if spec.observers and not decides else []
    tool = f"tool {question.tool!r} needs an approval; " if question.is_for_approval else ""
    raise BadOutcome(f"{tool}question.to: must be {' or '.join(kinds)}: {names} (got {question.to!r})")


def _wait_policy_of(runtime: Runtime, facts: SessionFacts, name: str) -> WaitPolicy:
    """Return the wait policy of a person who may be asked.

    It is that of their own agent; for people without turns, of the agent of their name if its kind is human.
    """
    binding = facts.spec.agents.get(name) or AgentBinding(agent=name)
    try:
        agent = runtime.agents.registry.get_agent(binding)
    except (AgentError, InvalidInput):  # a problem of that agent is reported in its own turn
        return WaitPolicy()
    if name not in facts.roster and not isinstance(agent, HumanAgent):
        return WaitPolicy()
    return agent.wait if isinstance(agent, DeferredAgent) else WaitPolicy()
