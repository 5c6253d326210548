"""The open questions of all sessions, read from the inbox."""

from __future__ import annotations

from ..models.errors import SessionNotFound
from ..models.turns.waiting import Pending
from ..state.turns.inbox import Inbox, InboxEntry
from .sessions import Sessions


def open_questions(sessions: Sessions, name: str | None, *, limit: int) -> list[Pending]:
    """Return the open questions to `name`, or to anybody, oldest first. Removes entries of questions that are over."""
    inbox = Inbox(sessions.connections.redis)
    found: dict[tuple[str, int], Pending] = {}
    for letter, at_ms in inbox.list_entries(name):
        if len(found) >= limit:
            break
        question = _question(sessions, letter)
        if question is None:
            if _is_over(sessions, letter):
                inbox.remove_closed(letter, at_ms)
        else:
            found[question.session_id, question.turn_number] = question
    # Another session's question may have been parked between the entry of this one and its parking.
    return sorted(found.values(), key=lambda question: question.asked_at)


def _is_over(sessions: Sessions, letter: InboxEntry) -> bool:
    """Return whether the turn of an entry has ended. A turn that is about to be parked has its entry already."""
    try:
        state = sessions.connections.store.state(letter.session_id)
    except SessionNotFound:
        return True
    record = state.records.get(letter.turn_number)
    return state.is_final or record is None or not record.is_open


def _question(sessions: Sessions, letter: InboxEntry) -> Pending | None:
    """Return the question of an entry, or None if it is over or not asked yet."""
    try:
        questions = sessions.get_live(letter.session_id).pending()
    except SessionNotFound:
        return None
    return next(
        (it for it in questions if it.turn_number == letter.turn_number and letter.name in it.asked), None
    )
