"""The questions of all sessions: open ones from the sessions in memory, closed ones from the journals in Redis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from redis.asyncio import Redis

from ...models.errors import CorruptSession
from ...models.protocol.base import Event
from ...state.redis.keys import session_key
from ...state.redis.readers import is_wrong_type, read_entries, read_stored
from ..views.collab_row import CollabRow
from ..views.questions import QUESTION_EVENTS, OpenQuestion, PastQuestion, open_questions, past_questions
from .hub import Hub
from .session_list import SessionList

#: Maximum number of sessions whose journals are searched for closed questions: those that changed last.
MAX_SESSIONS = 200
#: Newest journal entries of a session that are read.
_MAX_ENTRIES = 200


class OpenQuestions:
    """The open questions, which all pages share.

    Args:
        hub: Has the unfinished sessions.
        sessions: The list of sessions, whose revision changes with them.
    """

    def __init__(self, hub: Hub, sessions: SessionList) -> None:
        self._hub = hub
        self._sessions = sessions
        self._revision = -1
        self._questions: tuple[OpenQuestion, ...] = ()

    def read(self) -> tuple[OpenQuestion, ...]:
        """Return the questions, oldest first. Those of a session that cannot be read are left out."""
        if self._revision != self._sessions.revision:
            self._revision = self._sessions.revision
            self._questions = tuple(sorted(self._collect(), key=lambda question: question.asked_ms))
        return self._questions

    def _collect(self) -> list[OpenQuestion]:
        questions: list[OpenQuestion] = []
        for session in self._hub.unfinished():
            if any(speaker["state"] == "parked" for speaker in session.row["speakers"]):
                title = session.row["title"].strip() or session.row["id"]
                try:
                    questions += open_questions(session.state, session.roster, title)
                except CorruptSession:
                    continue  # the list shows that it cannot be read
        return questions


class ClosedQuestion(NamedTuple):
    """A closed question with the row of its session."""

    row: CollabRow
    question: PastQuestion


async def read_closed(redis: Redis, rows: Sequence[CollabRow], *, since_ms: int) -> list[ClosedQuestion]:
    """Return the questions that were closed since a time, newest first.

    Args:
        redis: The client.
        rows: Sessions; the `MAX_SESSIONS` that changed last are searched.
        since_ms: The time, in milliseconds since the epoch.
    """
    recent = sorted(rows, key=lambda row: row["updated_ms"], reverse=True)[:MAX_SESSIONS]
    recent = [row for row in recent if row["updated_ms"] >= since_ms]
    pipeline: Any = redis.pipeline(transaction=False)
    for row in recent:
        pipeline.xrevrange(session_key(row["id"], "journal"), count=_MAX_ENTRIES)
    closed: list[ClosedQuestion] = []
    for row, answer in zip(recent, await pipeline.execute(raise_on_error=False), strict=True):
        if is_wrong_type(answer):
            continue
        if isinstance(answer, Exception):
            raise answer
        try:
            entries = [
                (entry_id, read_stored(Event, text, session_id=row["id"], part="journal"))
                for entry_id, text in reversed(read_entries(answer))
                if any(f'"{kind}"' in text for kind in QUESTION_EVENTS)  # parsing all of them takes long
            ]
        except CorruptSession:
            continue
        questions = past_questions(entries, ended_ms=row["ended_ms"])
        closed += [ClosedQuestion(row, question) for question in questions if question.ended_ms >= since_ms]
    return sorted(closed, key=lambda item: item.question.ended_ms, reverse=True)
