"""The inbox: open questions to people, and those that were answered or have expired. Pure.

A reply token permits an answer, so no page contains one. A question is named by a hash of its token instead
(`question_id`): an answer to a question that was replaced in the meantime is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypedDict

from pydantic import JsonValue

from ...archive.results import ResultPage
from ...jobs.condition_rules import parked_questions, without_answer
from ...jobs.conditions import Roster
from ...jobs.questions import question_id
from ...models.protocol.base import Event
from ...models.text.ids import entry_key, ms_from_moment
from ...models.turns.turn import Expects
from ...models.turns.waiting import Pending
from ...state.sessions.records import SessionState
from ...tasks.views.session_views import decode_planned_turn

#: Maximum number of questions per page.
MAX_QUESTIONS = 500
#: Purpose of a turn -> what the page asks for if the question has no text.
_EXPECTED: Mapping[Expects, str] = {
    Expects.MESSAGE: "Write the next message.",
    Expects.DECISION: "Decide who speaks next, or whether the work is done.",
    Expects.REVIEW: "Approve the work, or say what to correct.",
}
#: Events of the journal from which the closed questions are known.
QUESTION_EVENTS = (
    "turn.parked",
    "turn.reassigned",
    "turn.escalated",
    "turn.answered",
    "webhook.delivered",
    "webhook.failed",
)


class QuestionRow(TypedDict):
    """An open question. Times are in milliseconds since the epoch."""

    #: Names the question in an answer.
    id: str
    session_id: str
    title: str
    turn: int
    #: Whose turn it is.
    participant: str
    #: Who may answer.
    asked: list[str]
    #: Empty: the participant is asked for the turn itself.
    text: str
    #: The possible answers; empty: any text.
    choices: list[str]
    #: Purpose of the turn.
    expects: str
    #: The answer is the turn's own words; otherwise it goes to the agent that asked.
    is_own: bool
    asked_ms: int
    #: Deadline; None: the end of the session.
    until_ms: int | None


class QuestionPage(TypedDict):
    """A page of the inbox."""

    #: Position for the stream of changes of sessions, older than the questions.
    position: str
    questions: list[QuestionRow]
    #: Cursor of the next page; None: this is the last one.
    next: str | None


def build_question_page(page: ResultPage[Pending], *, position: str) -> QuestionPage:
    """Return a page as JSON data."""
    questions = [build_question(question) for question in page.items]
    return QuestionPage(position=position, questions=questions, next=page.cursor)


def build_question(question: Pending) -> QuestionRow:
    """Return the row of a question."""
    return QuestionRow(
        id=question_id(question.reply_token),
        session_id=question.session_id,
        title=question.title,
        turn=question.turn_number,
        participant=question.participant,
        asked=list(question.asked),
        text=question.question.text,
        choices=list(question.question.choices),
        expects=question.expects.value,
        is_own=question.is_own,
        asked_ms=ms_from_moment(question.asked_at),
        until_ms=_ms(question.until),
    )


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else ms_from_moment(moment)


@dataclass(frozen=True, slots=True)
class Person:
    """Someone who may answer."""

    #: Participant id, or the name of a person without turns.
    id: str
    name: str
    role: str = ""


def is_among(name: str, people: Iterable[Person]) -> bool:
    """Return whether one of these people has this id, name or (`role:NAME`) role."""
    return any(name in (person.id, person.name, f"role:{person.role}") for person in people)


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """An open question on the page. Times are in milliseconds since the epoch."""

    id: str
    session_id: str
    title: str
    turn: int
    #: Who may answer.
    asked: tuple[Person, ...]
    #: Name of the participant that asks; empty: the person is asked for the turn itself.
    asker: str
    text: str
    choices: tuple[str, ...]
    #: The tool call that the answer approves or refuses; empty: none.
    tool: str
    asked_ms: int
    #: Deadline; None: the end of the session.
    until_ms: int | None
    #: What happens at the deadline.
    then: str

    def is_for(self, name: str) -> bool:
        """Return whether a person of this id, name or (`role:NAME`) role may answer; an empty name: anybody."""
        return not name or is_among(name, self.asked)


def open_questions(state: SessionState, roster: Roster, title: str) -> Iterator[OpenQuestion]:
    """Yield the questions of a session that people can answer.

    Raises:
        CorruptSession: A stored record is invalid.
    """
    for turn, waiting in parked_questions(state, state.open_turns()):
        if turn.parking is None or not waiting.is_for_people:
            continue
        names = waiting.asked or (turn.participant,)
        expects = decode_planned_turn(state, turn, roster.names).expects
        yield OpenQuestion(
            id=question_id(turn.parking.reply_token),
            session_id=state.session_id,
            title=title,
            turn=turn.number,
            asked=tuple(Person(name, roster.name(name), roster.roles.get(name, "")) for name in names),
            asker="" if waiting.is_own else roster.name(turn.participant),
            text=waiting.question.text or _EXPECTED[expects],
            choices=waiting.question.choices,
            tool=waiting.question.tool or "",
            asked_ms=turn.parking.parked_ms,
            until_ms=turn.parking.until_ms,
            then=without_answer(waiting, roster),
        )


@dataclass(frozen=True, slots=True)
class PastQuestion:
    """A question that was answered, or has ended without an answer. Times are in milliseconds since the epoch."""

    turn: int
    participant: str
    asked: tuple[str, ...]
    #: Beginning of the question.
    text: str
    asked_ms: int
    #: Who answered; empty: no answer came in time.
    by: str = ""
    #: When it was answered or has expired.
    ended_ms: int = 0


def past_questions(entries: Iterable[tuple[str, Event]], *, ended_ms: int | None) -> list[PastQuestion]:
    """Return the closed questions of a session.

    Args:
        entries: Events of its journal with the ids of their entries, oldest first.
        ended_ms: When the session ended, which ends its questions; None: it has not.
    """
    waiting: dict[int, PastQuestion] = {}
    closed: list[PastQuestion] = []
    for entry_id, event in entries:
        data = event.data or {}
        turn = data.get("turn_number")
        if not isinstance(turn, int):
            continue
        at_ms = entry_key(entry_id)[0]
        match event.event_type:
            case "turn.parked" if asked := _texts(data, "asked"):
                waiting[turn] = PastQuestion(
                    turn, str(data.get("participant_id", "")), asked, str(data.get("question", "")), at_ms
                )
            case "turn.reassigned" | "turn.escalated" if turn in waiting:
                waiting[turn] = replace(waiting[turn], asked=_texts(data, "asked") or waiting[turn].asked)
            case "webhook.delivered" | "webhook.failed":
                waiting.pop(turn, None)  # a remote system was asked
            case "turn.answered" if turn in waiting:
                closed.append(replace(waiting.pop(turn), by=str(data.get("by") or ""), ended_ms=at_ms))
            case _:
                pass
    if ended_ms is not None:
        closed += [replace(question, ended_ms=ended_ms) for question in waiting.values()]
    return closed


def _texts(data: Mapping[str, JsonValue], name: str) -> tuple[str, ...]:
    value = data.get(name)
    return tuple(map(str, value)) if isinstance(value, list) else ()
