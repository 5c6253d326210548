"""Parking of turns that wait for an answer, because their agent ended with a question.

A parked turn costs only its record, and an entry in the inbox of each person who may answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pydantic import JsonValue

from ...agents.agent import AnyAgent
from ...agents.kinds.external import DeferredAgent, ExternalAgent
from ...agents.kinds.session import SessionAgent
from ...models.errors import BadOutcome
from ...models.metrics import TurnOutcomeLabel
from ...models.sessions.options import AgentBinding
from ...models.text.ids import new_id
from ...models.text.redact import excerpt, scrub_secrets
from ...models.turns.turn import Question, TurnContext, TurnOutcome
from ...models.turns.waiting import (
    AddedMessage,
    Awaits,
    ChildSession,
    GuardHold,
    ParkedQuestion,
    RemoteDelivery,
    WaitPolicy,
)
from ...state.redis.readers import server_ms
from ...state.sessions.records import Grant, ScriptAnswer, SessionState
from ...state.sessions.requests import JournalNote
from ...state.sessions.turn_records import ParkedBy
from ...state.turns.parked import FAR_MS, EventData, Inbox, InboxEntry, ParkedTurnStore, ParkRequest
from ..runtime.runtime import Runtime
from ..turns.active_turn import ActiveTurn, count_end, retry_during_outage
from ..turns.results import TurnEnd
from ..views.session_views import SessionFacts
from .addressees import check_asked, wait_policy_of
from .due_work import deliver_turn
from .parked_turn import read_question
from .parked_work import reminders_ms
from .replies import request_planning
from .subsessions.opening import open_child
from .subsessions.planning import find_session, plan_child, reservation_of_child

#: Maximum questions of an agent in one turn, so that an agent that always asks comes to an end.
MOST_QUESTIONS = 20
#: Milliseconds after the deadline of a parked turn for which its call journal is kept.
CALLS_GRACE_MS = 86_400_000
#: Characters of a question that its event contains.
_MAX_EVENT_TEXT = 500


@dataclass(frozen=True, slots=True)
class TurnToPark:
    """A turn that is about to be parked."""

    active_turn: ActiveTurn
    context: TurnContext
    #: The agent that has the turn.
    binding: AgentBinding
    #: What a guard holds until a person decides; None: the agent itself asks.
    hold: GuardHold | None = None
    #: Events that are written with the question.
    notes: tuple[JournalNote, ...] = ()

    @property
    def facts(self) -> SessionFacts:
        """Return the settings of the session."""
        return self.active_turn.facts

    @property
    def state(self) -> SessionState:
        """Return the state of the session when the turn began."""
        return self.active_turn.state

    @property
    def grant(self) -> Grant:
        """Return the grant of the turn."""
        return self.active_turn.grant

    def asks_participant(self, outcome: TurnOutcome) -> bool:
        """Return whether the question goes to the turn's own participant."""
        question = outcome.question
        return question is not None and not question.call and question.to == self.context.me.participant_id


def park_turn(runtime: Runtime, turn: TurnToPark, outcome: TurnOutcome, *, until: float) -> TurnEnd:
    """Park a turn with the question of its agent, and deliver it if its agent is a remote system.

    During a Redis outage, retry until `until` (by `time.monotonic()`), because the question is paid for.

    Raises:
        BadOutcome: The question names no person to ask.
        StateError: The live state in Redis cannot be read or changed.
    """
    agent = runtime.registry.get_agent(turn.binding)
    reply_token = new_id()
    waiting = _waiting(runtime, turn, agent, outcome)
    is_remote = isinstance(agent, ExternalAgent) and waiting.is_own
    if isinstance(agent, ExternalAgent) and is_remote:
        waiting = waiting.model_copy(update={"delivery": _delivery(agent, turn, waiting, reply_token)})
    child = _child(runtime, turn, agent, waiting)
    waiting = waiting.model_copy(update={"child": child})
    session_id, number = turn.facts.session_id, turn.grant.number
    inbox_entries = [InboxEntry(session_id, number, name) for name in waiting.asked]
    laid = _build_park_request(
        waiting, reply_token, tended_in_ms=runtime.limits.lease_ms if is_remote or child else FAR_MS
    )
    parked_by = ParkedBy(turn.active_turn.task_id, turn.active_turn.worker)
    laid = replace(
        laid,
        parked_by=parked_by,
        spent={**turn.active_turn.accounts(), turn.grant.token: outcome.usage},
        notes=turn.notes,
    )

    def write() -> ScriptAnswer:
        Inbox(runtime.store.client).add(inbox_entries, at_ms=server_ms(runtime.store.client))
        # Twice the time: without an answer, the next person gets as much time as the first.
        turn.active_turn.services.extend_ttl(CALLS_GRACE_MS + 2 * (laid.until_in_ms or FAR_MS))
        return ParkedTurnStore(runtime.store.client).park(session_id, turn.grant, laid)

    answer = retry_during_outage(write, until=until, what=f"question of turn {number} of {session_id}")
    turn.active_turn.admission.record_end(answer, outcome.usage, done=answer.word == "parked")
    if answer.word == "parked":
        count_end(runtime, turn.active_turn, TurnOutcomeLabel.PARKED)
    else:
        count_end(runtime, turn.active_turn, TurnOutcomeLabel.REFUSED, refused=answer.word)
    asked = None if answer.state is None else read_question(turn.facts, answer.state, number)
    if asked is None:
        # Keep the inbox entries, because another worker may have parked this turn; readers remove stale
        # entries.
        return TurnEnd(answer.word)
    runtime.index.set_due_by(session_id, asked.parking.wake_ms)
    if asked.state.unconsumed() or asked.state.stop_requested:
        request_planning(runtime, asked.state)  # closed turns and a requested stop do not wait for the answer
    if asked.waiting.child is not None:
        end = open_child(runtime, asked, asked.waiting.child)
        return replace(end, awaits=Awaits.SESSION) if end.word in ("tended", "parked") else end
    if isinstance(agent, ExternalAgent) and asked.waiting.delivery is not None:
        end = deliver_turn(runtime, asked, agent, asked.waiting.delivery)
        return end if end.failed else replace(end, awaits=Awaits.REMOTE)
    summary = f"parked: waiting for {excerpt(', '.join(asked.waiting.asked))}"
    return TurnEnd(answer.word, summary, awaits=Awaits.HUMAN)


def _build_park_request(waiting: ParkedQuestion, reply_token: str, *, tended_in_ms: int) -> ParkRequest:
    deadline_s = waiting.policy.deadline_s
    until_in_ms = None if deadline_s is None else int(deadline_s * 1000)
    return ParkRequest(
        reply_token=reply_token,
        wait=waiting.model_dump_json(exclude_defaults=True),
        until_in_ms=until_in_ms,
        wake_in_ms=min(until_in_ms or FAR_MS, *reminders_ms(waiting), tended_in_ms),
        about=_about(waiting),
        child=None if waiting.child is None else reservation_of_child(waiting.child),
    )


def _about(waiting: ParkedQuestion) -> EventData:
    text = waiting.question.text
    if waiting.hold is not None and waiting.is_for_guard:
        text = f"guard {waiting.hold.guard!r}: {waiting.hold.reason}"  # an answer that may be refused is not recorded
    text = text[:_MAX_EVENT_TEXT]
    if waiting.child is not None:
        return {"session_id": waiting.child.session_id, "question": text}
    about: dict[str, JsonValue] = {"asked": list(waiting.asked), "question": text}
    return {**about, "tool": waiting.question.tool} if waiting.question.is_for_approval else about


def _child(
    runtime: Runtime, turn: TurnToPark, agent: AnyAgent, waiting: ParkedQuestion
) -> ChildSession | None:
    """Return the sub-session that the turn is about to wait for; None: it waits for a person or a remote system."""
    question = waiting.question
    if question.session is not None:
        session = find_session(runtime, question.session)
    elif waiting.is_own and isinstance(agent, SessionAgent):
        session = agent
    else:
        return None
    return plan_child(runtime, turn.active_turn, turn.context, session, question)


def _waiting(runtime: Runtime, turn: TurnToPark, agent: AnyAgent, outcome: TurnOutcome) -> ParkedQuestion:
    question = outcome.question
    assert question is not None  # noqa: S101 - only a turn with a question is parked
    if question.is_for_approval:  # the agent knows its own secrets only
        scrubbed = scrub_secrets(question.text, runtime.turn_services.secrets)
        question = question.model_copy(update={"text": scrubbed})
    me = turn.context.me.participant_id
    is_call = question.session is not None or question.is_for_approval
    is_own = isinstance(agent, DeferredAgent) and question.to == me and not is_call and turn.hold is None
    before = turn.active_turn.waiting or ParkedQuestion(question=question)
    if len(before.answers) >= MOST_QUESTIONS:
        raise BadOutcome(f"question: exceeds the limit of {MOST_QUESTIONS} questions in a turn")
    return ParkedQuestion(
        question=question,
        is_own=is_own,
        asked=_asked(turn, agent, question, is_own=is_own),
        policy=_wait_policy(runtime, turn, agent, question, is_own=is_own),
        passed_on=before.passed_on,
        answers=before.answers,
        hold=turn.hold or _without_answer(before.hold),
        lines=(*before.lines, *(AddedMessage(speaker=me, draft=draft) for draft in outcome.messages)),
    )


def _without_answer(hold: GuardHold | None) -> GuardHold | None:
    """Return a hold without its answer, which was approved and is the question that is asked now.

    A hold without a decision is that of an agent whose turn went to its substitute: None.
    """
    return None if hold is None or hold.verdict is None else hold.model_copy(update={"outcome": None})


def _asked(turn: TurnToPark, agent: AnyAgent, question: Question, *, is_own: bool) -> tuple[str, ...]:
    """Return the names of those who may answer; empty if a sub-session answers."""
    if question.session is not None or (is_own and isinstance(agent, SessionAgent)):
        return ()
    return (turn.grant.substitute or turn.context.me.participant_id,) if is_own else (question.to,)


def _wait_policy(
    runtime: Runtime, turn: TurnToPark, agent: AnyAgent, question: Question, *, is_own: bool
) -> WaitPolicy:
    if question.session is not None:
        return WaitPolicy(deadline_s=None)  # a sub-session ends by itself
    if is_own and isinstance(agent, DeferredAgent):
        return agent.wait
    check_asked(turn.facts, question, decides=turn.hold is not None or question.is_for_approval)
    return wait_policy_of(runtime, turn.facts, question.to)


def _delivery(
    agent: ExternalAgent, turn: TurnToPark, waiting: ParkedQuestion, reply_token: str
) -> RemoteDelivery:
    """Return the payload for a remote system; it is the same at every attempt."""
    deadline_s = waiting.policy.deadline_s
    until = None if deadline_s is None else datetime.fromtimestamp(turn.state.now_ms / 1000 + deadline_s, UTC)
    body = agent.build_payload(turn.context, reply_token=reply_token, until=until)
    return RemoteDelivery(message_id=new_id(), body=body)
