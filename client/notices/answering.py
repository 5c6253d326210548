"""A question as the page of a link shows it, and the answer that the page sends."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum

from ...jobs.collab import CollabJob
from ...jobs.questions import find_question
from ...jobs.reading import streams_of
from ...models.errors import ReplyRefused
from ...models.protocol.base import Event
from ...models.protocol.dialog import Message
from ...models.turns.waiting import Pending
from ...state.redis.readers import read_message, read_stored
from .links import AnswerLink

#: Messages before the question, and entries of the journal in which its end is searched.
_MESSAGES, _ENTRIES = 6, 500
_CLOSING = frozenset({"turn.answered", "turn.reassigned"})


class LinkState(StrEnum):
    """What a link can do."""

    OPEN = "open"
    #: The question was answered, by the person or by another one.
    ANSWERED = "answered"
    #: The question goes to another person, or its session needs no answer any more.
    WITHDRAWN = "withdrawn"
    #: The time of the link or of the question is over.
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class LinkedQuestion:
    """What the page shows."""

    state: LinkState
    person: str
    title: str = ""
    #: None: the question is no longer open.
    pending: Pending | None = None
    messages: tuple[Message, ...] = ()
    #: Who answered; empty: no answer, or the name is not known.
    answered_by: str = ""


def read_linked(job: CollabJob, link: AnswerLink) -> LinkedQuestion:
    """Return the question of a link, without changing anything. Raises SessionNotFound."""
    title = job.collab().title
    pending = find_question(job.pending(), link.question)
    if pending is not None and link.person not in pending.asked:
        return LinkedQuestion(LinkState.WITHDRAWN, link.person, title)
    if pending is None:
        return _closed(job, link, title)
    if time.time() >= link.expires_s:
        return LinkedQuestion(LinkState.EXPIRED, link.person, title)
    entries = streams_of(job).newest_page(job.id, "dialog", count=_MESSAGES)
    messages = tuple(read_message(entry, job.id) for entry in reversed(entries))
    return LinkedQuestion(LinkState.OPEN, link.person, title, pending, messages)


def answer_linked(job: CollabJob, link: AnswerLink, text: str) -> LinkedQuestion:
    """Answer the question of a link in the name of its person; return the question as it is then.

    Raises:
        InvalidInput: The text is blank, too long, or not one of the choices.
        ReplyRefused: The question is no longer open; nothing has changed.
        SessionNotFound: The session has expired.
    """
    linked = read_linked(job, link)
    if linked.pending is None:
        raise ReplyRefused(link.session_id, link.person, "double")
    token = linked.pending.reply_token
    job.reply(link.person, text, turn=link.turn, token=token, by=link.person)
    return LinkedQuestion(LinkState.ANSWERED, link.person, linked.title, answered_by=link.person)


def _closed(job: CollabJob, link: AnswerLink, title: str) -> LinkedQuestion:
    """Return how a question was closed, as the journal says."""
    for _, text in streams_of(job).newest_page(job.id, "journal", count=_ENTRIES):
        event = read_stored(Event, text, session_id=job.id, part="journal")
        data = event.data or {}
        if event.event_type not in _CLOSING or data.get("turn_number") != link.turn:
            continue
        if event.event_type == "turn.reassigned" or data.get("outcome") == "reassigned":
            return LinkedQuestion(LinkState.WITHDRAWN, link.person, title)
        by = str(data.get("by") or "")
        return LinkedQuestion(
            LinkState.ANSWERED if by else LinkState.EXPIRED, link.person, title, answered_by=by
        )
    return LinkedQuestion(LinkState.WITHDRAWN, link.person, title)
