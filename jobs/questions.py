"""The open questions of one session, each returned once, in the order in which they are asked.

The journal records when a question was asked; the question itself, with its reply token, is read from the session. A reply
token permits an answer, so pages and the HTTP API name a question by a hash of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..models.protocol.base import Event
from ..models.turns.waiting import Pending
from ..state.following import follow
from ..state.redis.readers import read_stored
from ..state.sessions.records import SessionState
from ..tasks.waiting.parked_turn import read_all_questions
from .reading import ReadableJob, connections_of, facts_of, streams_of, watch_of

PendingReader = Callable[[], Sequence[Pending]]

#: Events after which there is a question with a new reply token.
ASKING = frozenset({"turn.parked", "turn.reassigned"})


class QuestionReader:
    """Reads the questions of a session that were not returned yet.

    The journal is followed from `cursor`, which was read before the first question: no question is missed in between.

    Args:
        job: The session.
        pending: Returns its open questions.
    """

    def __init__(self, job: ReadableJob, pending: PendingReader) -> None:
        self._session_id = job.id
        self._pending = pending
        self._returned: set[str] = set()
        newest = streams_of(job).newest_page(job.id, "journal", count=1)
        self.cursor = newest[0][0] if newest else "0"

    def take(self) -> Pending | None:
        """Return the next open question that was not returned yet; None: there is none now."""
        for question in self._pending():
            if question.reply_token not in self._returned:
                self._returned.add(question.reply_token)
                return question
        return None

    def take_all(self) -> Iterator[Pending]:
        """Yield these questions. Each is read when the consumer asks for it: others may be answered by then."""
        while (question := self.take()) is not None:
            yield question

    def is_news(self, text: str) -> bool:
        """Return whether an entry of the journal records that a question was asked."""
        event = read_stored(Event, text, session_id=self._session_id, part="journal")
        return event.event_type in ASKING


def follow_questions(
    job: ReadableJob, pending: PendingReader, *, timeout_s: float | None = None
) -> Iterator[Pending]:
    """Yield each question of a live session once, until the session ends.

    Args:
        job: The session.
        pending: Returns its open questions.
        timeout_s: Seconds to wait for the end. None: no limit.

    Raises:
        ResultTimeout: The session did not end within `timeout_s` seconds.
    """
    reader = QuestionReader(job, pending)
    yield from reader.take_all()
    to = connections_of(job)
    look = watch_of(job).check
    entries = follow(to.redis, job.id, "journal", after=reader.cursor, timeout_s=timeout_s, waiting=look)
    for _, text in entries:
        if reader.is_news(text):
            yield from reader.take_all()


def questions_to_people(job: ReadableJob, state: SessionState | None = None) -> tuple[Pending, ...]:
    """Return the open questions of a session to people, by turn number; `pending` has those to remote systems, too.

    `state`: its state; None: read it.
    """
    state = state or job.state()
    if not job.is_live or state.is_final:
        return ()
    questions = read_all_questions(facts_of(job), state)
    return tuple(asked.pending() for asked in questions if asked.waiting.is_for_people)


def question_id(reply_token: str) -> str:
    """Return the id of a question, from which its reply token cannot be found."""
    return hashlib.sha256(f"question {reply_token}".encode()).hexdigest()[:32]


def find_question(questions: Iterable[Pending], wanted: str) -> Pending | None:
    """Return the question with an id; None: it is no longer open."""
    return next((question for question in questions if question_id(question.reply_token) == wanted), None)
