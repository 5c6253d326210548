"""Turns that wait for somebody: laid aside when their agent asks, looked after until there is an answer.

A parked turn costs nothing but its record. The sweep brings it to a worker when something is
due: a reminder, a delivery, or the end of its time, which its policy meets.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from ..agents.human import Absent
from ..models.collab import ParticipantKind
from ..models.errors import AgentError, BadOutcome, InvalidInput
from ..models.ids import new_id
from ..models.options import AfterRetries, AgentBinding
from ..models.turn import OutcomeKind, Question, TurnContext, TurnOutcome
from ..models.waiting import Line, Then, Waiting, WaitPolicy
from ..state.inbox import Inbox, Letter
from ..state.parked import FAR_MS, About, LayAside, ParkedTurns, Rule, Tending
from ..state.records import Grant, SessionState
from .asked import Asked, read_asked
from .replies import end_wait
from .runtime import Runtime
from .view import SessionFacts

log = logging.getLogger(__name__)

#: A seat may be passed on this often in one turn: those who stand in for each other must not go round for ever.
MOST_PASSED_ON = 8
#: Characters of a question that its event repeats.
_TOLD = 500


@dataclass(frozen=True, slots=True)
class Parked:
    """A turn that is about to wait."""

    facts: SessionFacts
    state: SessionState
    grant: Grant
    context: TurnContext
    #: Who sits there, and the agent itself.
    binding: AgentBinding
    #: What was asked and answered in this turn before.
    before: Waiting | None


def park(runtime: Runtime, turn: Parked, outcome: TurnOutcome) -> str:
    """Lays a turn aside for the question its agent has ended with. Raises BadOutcome, StateError."""
    waiting = _waiting(runtime, turn, outcome)
    session_id, grant = turn.facts.session_id, turn.grant
    deadline_s = waiting.policy.deadline_s
    until_in_ms = None if deadline_s is None else int(deadline_s * 1000)
    letters = [Letter(session_id, grant.number, name) for name in waiting.asked]
    Inbox(runtime.store.client).add(letters, at_ms=turn.state.now_ms)
    laid = LayAside(
        reply_token=new_id(),
        wait=waiting.model_dump_json(exclude_defaults=True),
        until_in_ms=until_in_ms,
        wake_in_ms=min(until_in_ms or FAR_MS, *_reminders_ms(waiting), FAR_MS),
        about={"asked": list(waiting.asked), "question": waiting.question.text[:_TOLD]},
    )
    answer = ParkedTurns(runtime.store.client).park(session_id, grant, laid)
    if answer.state is None or (asked := read_asked(turn.facts, answer.state, grant.number)) is None:
        Inbox(runtime.store.client).remove(letters)
        return answer.word
    runtime.index.sooner(session_id, asked.parking.wake_ms)
    return answer.word


def _waiting(runtime: Runtime, turn: Parked, outcome: TurnOutcome) -> Waiting:
    question = outcome.question
    assert question is not None  # noqa: S101 - who parks has asked
    me = turn.context.me.participant_id
    agent = runtime.registry.seat(turn.binding)
    is_own = isinstance(agent, Absent) and question.to == me
    before = turn.before or Waiting(question=question)
    return Waiting(
        question=question,
        is_own=is_own,
        asked=(turn.grant.substitute or me,) if is_own else (question.to,),
        policy=agent.wait if isinstance(agent, Absent) and is_own else _policy(runtime, turn, question),
        passed_on=before.passed_on,
        answers=before.answers,
        lines=(*before.lines, *(Line(speaker=me, draft=draft) for draft in outcome.messages)),
        usage=before.usage + outcome.usage,
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


def _reminders_ms(waiting: Waiting) -> list[int]:
    return [int(after_s * 1000) for after_s in waiting.policy.remind_after_s]


# -- looking after ---------------------------------------------------------------------------


def wake(runtime: Runtime, facts: SessionFacts, state: SessionState, number: int) -> str:
    """Does what is due for a parked turn; answers the word for it."""
    asked = read_asked(facts, state, number)
    if asked is None:
        return "gone"
    until_ms = asked.parking.until_ms
    if until_ms is not None and state.now_ms >= until_ms:
        return _overdue(runtime, asked)
    return _remind(runtime, asked)


def _remind(runtime: Runtime, asked: Asked) -> str:
    """Records every reminder that is due as one, and sets the time of the next."""
    since_ms = asked.state.now_ms - asked.parking.parked_ms
    reminders = _reminders_ms(asked.waiting)
    reminded = sum(1 for after_ms in reminders if after_ms <= since_ms)
    if reminded == asked.waiting.reminded:
        return "waiting"
    waiting = asked.waiting.model_copy(update={"reminded": reminded})
    about: About = {"asked": list(waiting.asked), "reminder": reminded}
    return tend(runtime, asked, waiting, event="turn.reminded", about=about)


def tend(
    runtime: Runtime,
    asked: Asked,
    waiting: Waiting,
    *,
    event: str,
    about: About,
    until_ms: int | None = None,
    wake_ms: int | None = None,
    new_token: str | None = None,
) -> str:
    """Writes down what was done, and sets the time of the next look; `until_ms`: a new deadline."""
    until_ms = until_ms or asked.parking.until_ms
    reminders = _reminders_ms(waiting)[waiting.reminded :]
    times = [wake_ms, until_ms, *(asked.parking.parked_ms + after_ms for after_ms in reminders)]
    wake_at = min((at for at in times if at is not None), default=asked.state.now_ms + FAR_MS)
    done = Tending(
        wait=waiting.model_dump_json(exclude_defaults=True),
        wake_ms=wake_at,
        until_ms=until_ms,
        event=event,
        about=about,
        new_token=new_token,
    )
    session_id = asked.facts.session_id
    turns = ParkedTurns(runtime.store.client)
    answer = turns.tend(session_id, asked.number, asked.parking.reply_token, done)
    if answer.word == "tended":
        runtime.index.sooner(session_id, wake_at)
    return answer.word


def _overdue(runtime: Runtime, asked: Asked) -> str:
    policy, waiting = asked.waiting.policy, asked.waiting
    match policy.then:
        case Then.DEFAULT:
            reply = asked.answered(policy.default, by=None, rule=Rule.DEADLINE)
        case Then.REASSIGN if waiting.is_own:
            return _reassign(runtime, asked)
        case Then.REASSIGN if policy.to not in waiting.asked:
            return _ask_another(runtime, asked, "turn.reassigned", (str(policy.to),), new_token=new_id())
        case Then.ESCALATE if not waiting.escalated:
            return _ask_another(runtime, asked, "turn.escalated", (*waiting.asked, str(policy.to)))
        case Then.ESCALATE:
            return give_up(runtime, asked, "nobody answered in time", rule=Rule.DEADLINE)
        case Then.CANCEL:
            return _cancel(runtime, asked)
        case _:
            reply = asked.answered(None, by=None, rule=Rule.DEADLINE)
    return end_wait(runtime, asked, reply).word


def _ask_another(
    runtime: Runtime, asked: Asked, event: str, names: tuple[str, ...], *, new_token: str | None = None
) -> str:
    """The question goes to somebody else, or to them as well, for as long again."""
    waiting = asked.waiting.model_copy(update={"asked": names, "escalated": True})
    number, session_id = asked.number, asked.facts.session_id
    inbox = Inbox(runtime.store.client)
    inbox.add([Letter(session_id, number, name) for name in names], at_ms=asked.parking.parked_ms)
    until_ms = asked.state.now_ms + int((waiting.policy.deadline_s or 0) * 1000)
    about: About = {"asked": list(names)}
    word = tend(runtime, asked, waiting, event=event, about=about, until_ms=until_ms, new_token=new_token)
    if word == "tended":
        inbox.remove(letter for letter in asked.letters() if letter.name not in names)
    return word


def _reassign(runtime: Runtime, asked: Asked) -> str:
    if asked.waiting.passed_on >= MOST_PASSED_ON:
        line = f"the seat was passed on {MOST_PASSED_ON} times, and nobody answered"
        return give_up(runtime, asked, line, rule=Rule.DEADLINE)
    to = str(asked.waiting.policy.to)
    return end_wait(runtime, asked, asked.passed_on(to, outcome="reassigned", rule=Rule.DEADLINE)).word


def give_up(runtime: Runtime, asked: Asked, line: str, *, rule: Rule) -> str:
    """The turn has failed: its failure policy decides."""
    policy = asked.facts.spec.policy_of(asked.record.participant)
    if policy.substitute and asked.record.agent is None:
        reply = asked.passed_on(policy.substitute, outcome="failed", rule=rule, error=line)
    else:
        kind = OutcomeKind.SKIPPED if policy.then is AfterRetries.SKIP else OutcomeKind.FAILED
        reply = asked.closed(kind, error=line, rule=rule)
    return end_wait(runtime, asked, reply).word


def _cancel(runtime: Runtime, asked: Asked) -> str:
    session_id, detail = asked.facts.session_id, f"{', '.join(asked.waiting.asked)} did not answer in time"
    runtime.store.cancel(
        session_id, reason="no_answer", detail=detail, retention_ms=runtime.limits.retention_ms
    )
    runtime.index.settle(session_id)
    Inbox(runtime.store.client).remove(asked.letters())
    return "cancelled"
