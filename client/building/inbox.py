"""The open questions of all sessions, read from the inbox index and checked against the sessions."""

from __future__ import annotations

from functools import partial
from typing import Literal

from ...archive.results import ResultPage, decode_cursor, encode_cursor
from ...jobs.questions import question_id, questions_to_people
from ...models.errors import InvalidInput, SessionNotFound
from ...models.turns.waiting import Pending
from ...state.notices import NoticeStore
from ...state.redis.readers import read_record
from ...state.turns.parked import Inbox, InboxEntry
from .sessions import Sessions


def question_page(
    sessions: Sessions, name: str | None, *, limit: int, after: str | None = None
) -> ResultPage[Pending]:
    """Return open questions, oldest first. Removes entries of closed questions.

    Questions that cannot be read are left out, which is logged once.

    Args:
        sessions: The sessions of the installation.
        name: The participant who was asked; None: anybody.
        limit: Maximum number of questions.
        after: Cursor of the page before; None: the first page.

    Raises:
        InvalidInput: The cursor is not valid.
    """
    inbox = Inbox(sessions.connections.redis)
    pending: dict[tuple[str, int], Pending] = {}
    cursor = None
    for inbox_entry, at_ms in inbox.list_entries(name, after=_position(after)):
        if len(pending) >= limit:
            break
        cursor = encode_cursor(repr(at_ms), inbox_entry.member())
        question = read_record(
            "a question of session", inbox_entry.session_id, partial(_look_up, sessions, inbox_entry)
        )
        if question is None:
            inbox.remove_closed(inbox_entry, at_ms)
        elif isinstance(question, Pending):
            pending[question.session_id, question.turn_number] = question
    else:
        cursor = None
    # An inbox entry is older than its question: between the two, another session's question may be parked.
    questions = sorted(pending.values(), key=lambda question: question.asked_at)
    return ResultPage(tuple(questions), cursor)


def _position(cursor: str | None) -> tuple[float, str] | None:
    if cursor is None:
        return None
    at_ms, member = decode_cursor(cursor, str, str)  # times in the index have fractions
    try:
        return float(at_ms), member
    except ValueError:
        raise InvalidInput("cursor", cursor, "must be a cursor from a previous page") from None


def _look_up(sessions: Sessions, inbox_entry: InboxEntry) -> Pending | Literal["not asked yet"] | None:
    """Return the question of an entry; None: it is closed."""
    if (question := _question(sessions, inbox_entry)) is not None:
        return question
    return None if _is_over(sessions, inbox_entry) else "not asked yet"


def _is_over(sessions: Sessions, inbox_entry: InboxEntry) -> bool:
    """Return whether the turn of an entry has ended. The entry is written before the turn is parked."""
    try:
        state = sessions.connections.store.state(inbox_entry.session_id)
    except SessionNotFound:
        return True
    record = state.records.get(inbox_entry.turn_number)
    return state.is_final or record is None or not record.is_open


def _question(sessions: Sessions, inbox_entry: InboxEntry) -> Pending | None:
    """Return the question of an entry, or None if it is closed or not asked yet."""
    try:
        questions = questions_to_people(sessions.get_live(inbox_entry.session_id))
    except SessionNotFound:
        return None
    question = next(
        (
            question
            for question in questions
            if question.turn_number == inbox_entry.turn_number and inbox_entry.name in question.asked
        ),
        None,
    )
    if question is None:
        return None
    failures = NoticeStore(sessions.connections.redis).failures(
        question.session_id, question_id(question.reply_token)
    )
    return question.model_copy(update={"notice_failed": "; ".join(failures)}) if failures else question
