"""Turns that wait for somebody: laid aside when their agent ends with a question.

A parked turn costs nothing but its record, and an entry in the inbox of those who may answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ..agents.external import ExternalAgent
from ..agents.human import Absent
from ..agents.protocol import Speaker
from ..models.collab import ParticipantKind
from ..models.errors import AgentError, BadOutcome, InvalidInput
from ..models.ids import new_id
from ..models.options import AgentBinding
from ..models.shown import excerpt
from ..models.turn import Question, TurnContext, TurnOutcome
from ..models.waiting import Delivery, Line, Waiting, WaitPolicy
from ..state.clock import server_ms
from ..state.inbox import Inbox, Letter
from ..state.parked import FAR_MS, LayAside, ParkedTurns
from ..state.records import Answer, Grant, SessionState
from .asked import read_asked
from .delivery import deliver
from .floor import Floor
from .patience import outlast_outage
from .replies import plan_on
from .runtime import Runtime
from .tending import reminders_ms
from .turn_end import TurnEnd
from .view import SessionFacts

#: Questions an agent may ask in one turn: one that asks whatever it hears must end, too.
MOST_QUESTIONS = 20
#: Milliseconds beyond its deadline for which a turn that waits keeps its finished calls.
BEYOND_WAIT_MS = 86_400_000
#: Characters of a question that its event repeats.
_TOLD = 500


@dataclass(frozen=True, slots=True)
class Parked:
    """A turn that is about to wait."""

    floor: Floor
    context: TurnContext
    #: Who sits there.
    binding: AgentBinding

    @property
    def facts(self) -> SessionFacts:
        """What the session is run with."""
        return self.floor.facts

    @property
    def state(self) -> SessionState:
        """The session when the turn began."""
        return self.floor.state

    @property
    def grant(self) -> Grant:
        """Under which it was spoken."""
        return self.floor.grant

    def is_own(self, outcome: TurnOutcome) -> bool:
        """Whether whoever sits there is asked for the turn's own words."""
        return outcome.question is not None and outcome.question.to == self.context.me.participant_id


def park(runtime: Runtime, turn: Parked, outcome: TurnOutcome, *, until: float) -> TurnEnd:
    """Lays a turn aside for the question its agent has ended with, and tells a remote system of it.

    A Redis that is away is waited for `until` then, by `time.monotonic()`: the question is paid for.
    Raises BadOutcome for a question to nobody, StateError.
    """
    agent = runtime.registry.seat(turn.binding)
    reply_token = new_id()
    waiting = _waiting(runtime, turn, agent, outcome)
    is_remote = isinstance(agent, ExternalAgent) and waiting.is_own
    if isinstance(agent, ExternalAgent) and is_remote:
        waiting = waiting.model_copy(update={"delivery": _delivery(agent, turn, waiting, reply_token)})
    session_id, number = turn.facts.session_id, turn.grant.number
    letters = [Letter(session_id, number, name) for name in waiting.asked]
    laid = _laid(waiting, reply_token, tended_in_ms=runtime.limits.lease_ms if is_remote else FAR_MS)
    laid = replace(laid, spent={**turn.floor.accounts(), turn.grant.token: outcome.usage})

    def write() -> Answer:
        Inbox(runtime.store.client).add(letters, at_ms=server_ms(runtime.store.client))
        # Whoever is asked next, when nobody answers, has as long again.
        turn.floor.desk.keep_for(BEYOND_WAIT_MS + 2 * (laid.until_in_ms or FAR_MS))
        return ParkedTurns(runtime.store.client).park(session_id, turn.grant, laid)

    answer = outlast_outage(write, until=until, what=f"the question of turn {number} of {session_id}")
    turn.floor.admission.take(answer, outcome.usage, done=answer.word == "parked")
    asked = None if answer.state is None else read_asked(turn.facts, answer.state, number)
    if asked is None:
        # The letters stay: another worker may have parked this turn. Who reads them sees what is over.
        return TurnEnd(answer.word)
    runtime.index.sooner(session_id, asked.parking.wake_ms)
    if asked.state.unconsumed() or asked.state.stop_requested:
        plan_on(runtime, asked.state)  # what waited for this turn to close does not wait for an answer
    if isinstance(agent, ExternalAgent) and asked.waiting.delivery is not None:
        return deliver(runtime, asked, agent, asked.waiting.delivery)
    return TurnEnd(answer.word, f"parked: waits for {excerpt(', '.join(asked.waiting.asked))}")


def _laid(waiting: Waiting, reply_token: str, *, tended_in_ms: int) -> LayAside:
    deadline_s = waiting.policy.deadline_s
    until_in_ms = None if deadline_s is None else int(deadline_s * 1000)
    return LayAside(
        reply_token=reply_token,
        wait=waiting.model_dump_json(exclude_defaults=True),
        until_in_ms=until_in_ms,
        wake_in_ms=min(until_in_ms or FAR_MS, *reminders_ms(waiting), tended_in_ms),
        about={"asked": list(waiting.asked), "question": waiting.question.text[:_TOLD]},
    )


def _waiting(runtime: Runtime, turn: Parked, agent: Speaker, outcome: TurnOutcome) -> Waiting:
    question = outcome.question
    assert question is not None  # noqa: S101 - who parks has asked
    me = turn.context.me.participant_id
    is_own = isinstance(agent, Absent) and question.to == me
    before = turn.floor.waiting or Waiting(question=question)
    if len(before.answers) >= MOST_QUESTIONS:
        raise BadOutcome(f"question: must be one of {MOST_QUESTIONS} in a turn, and not one more")
    return Waiting(
        question=question,
        is_own=is_own,
        asked=(turn.grant.substitute or me,) if is_own else (question.to,),
        policy=agent.wait if isinstance(agent, Absent) and is_own else _policy(runtime, turn, question),
        passed_on=before.passed_on,
        answers=before.answers,
        lines=(*before.lines, *(Line(speaker=me, draft=draft) for draft in outcome.messages)),
    )


def _policy(runtime: Runtime, turn: Parked, question: Question) -> WaitPolicy:
    """How long the person who is asked is waited for: as in their own seat."""
    person = turn.facts.roster.get(question.to)
    if person is None or person.kind is not ParticipantKind.HUMAN:
        people = [p.participant_id for p in turn.facts.participants if p.kind is ParticipantKind.HUMAN]
        names = ", ".join(people) or "there is none"
        raise BadOutcome(f"question.to: must be a participant of kind human: {names} (got {question.to!r})")
    try:
        seat = runtime.registry.seat(turn.facts.spec.agents[question.to])
    except (AgentError, InvalidInput):  # their own seat's trouble is met in their own turn
        return WaitPolicy()
    return seat.wait if isinstance(seat, Absent) else WaitPolicy()


def _delivery(agent: ExternalAgent, turn: Parked, waiting: Waiting, reply_token: str) -> Delivery:
    """What a remote system is told; the same at every attempt."""
    deadline_s = waiting.policy.deadline_s
    until = None if deadline_s is None else datetime.fromtimestamp(turn.state.now_ms / 1000 + deadline_s, UTC)
    body = agent.letter(turn.context, reply_token=reply_token, until=until)
    return Delivery(message_id=new_id(), body=body)
