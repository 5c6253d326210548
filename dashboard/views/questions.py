"""The inbox: open questions to people. Pure.

A reply token permits an answer, so no page contains one. A question is named by a hash of its token instead:
an answer to a question that was replaced in the meantime is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import TypedDict

from ...archive.results import ResultPage
from ...models.text.ids import ms_from_moment
from ...models.turns.waiting import Pending

#: Maximum number of questions per page.
MAX_QUESTIONS = 500


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


def question_id(question: Pending) -> str:
    """Return the id of a question, from which its reply token cannot be found."""
    return hashlib.sha256(f"question {question.reply_token}".encode()).hexdigest()[:32]


def find_question(questions: Iterable[Pending], wanted: str) -> Pending | None:
    """Return the question with an id; None: it is no longer open."""
    return next((question for question in questions if question_id(question) == wanted), None)


def build_question_page(page: ResultPage[Pending], *, position: str) -> QuestionPage:
    """Return a page as JSON data."""
    questions = [build_question(question) for question in page.items]
    return QuestionPage(position=position, questions=questions, next=page.cursor)


def build_question(question: Pending) -> QuestionRow:
    """Return the row of a question."""
    return QuestionRow(
        id=question_id(question),
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
