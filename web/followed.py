"""A session as readers of other protocols follow it: messages, words, questions, the end, each as a value."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from ..client.aio.jobs import AsyncCollabJob, blocking_job
from ..client.aio.updates import follow_updates
from ..jobs.collab import CollabJob
from ..jobs.questions import questions_to_people
from ..jobs.reading import streams_of
from ..models.protocol.dialog import Message
from ..models.text.ids import entry_key
from ..models.turns.streaming import Delta
from ..models.turns.waiting import Pending
from ..state.redis.readers import Stream, read_message
from ..state.streams.updates import UpdateCursor
from .context import WebContext
from .events import StopFollowing
from .questions import is_asking


@dataclass(frozen=True, slots=True)
class Ended:
    """The session has ended, or only the archive has it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """People are asked, and all messages before their questions were yielded."""

    #: All open questions.
    questions: tuple[Pending, ...]
    #: Position after what was yielded.
    position: UpdateCursor


#: None: nothing happened for two seconds.
Followed = Message | Delta | Asked | Ended | None


async def newest_cursor(context: WebContext, job: AsyncCollabJob) -> UpdateCursor:
    """Return the position after all that is stored now."""
    return await context.client.run(_newest_cursor, blocking_job(job))


def _newest_cursor(job: CollabJob) -> UpdateCursor:
    start = UpdateCursor()
    return UpdateCursor(
        dialog=newest_entry(job, "dialog") or start.dialog,
        events=newest_entry(job, "events") or start.events,
        journal=newest_entry(job, "journal") or start.journal,
    )


def newest_entry(job: CollabJob, stream: Stream) -> str | None:
    """Return the id of the newest entry of a stream of a session; None: it has none."""
    page = streams_of(job).newest_page(job.id, stream, count=1)
    return page[0][0] if page else None


async def follow_session(
    context: WebContext, job: AsyncCollabJob, *, after: UpdateCursor, deltas: bool
) -> AsyncGenerator[Followed, None]:
    """Yield what happens in a session until people are asked or it has ended.

    Args:
        context: The context of the server.
        job: The session.
        after: Position to start after.
        deltas: Whether the output of running turns is yielded, too.

    Raises:
        StopFollowing: The server stops.
        SessionNotFound: The session has expired.
    """
    position, blocking = after, blocking_job(job)
    questions = await context.client.run(_read_questions, blocking, position)
    is_read = questions is not None
    async with aclosing(follow_updates(job, after=after, deltas=deltas)) as pages:
        while not questions and (page := await anext(pages, None)) is not None:
            if context.closing.is_set():
                raise StopFollowing
            if not page:
                yield None
            for update in page:
                if isinstance(update, Delta):
                    yield update
                    continue
                position = update.cursor
                if update.stream == "dialog":
                    yield read_message((update.entry_id, update.text), job.id)
            if not is_read or any(map(is_asking, page)):
                questions = await context.client.run(_read_questions, blocking, position)
                is_read = questions is not None
    yield Asked(questions, position) if questions else Ended()


def _read_questions(job: CollabJob, position: UpdateCursor) -> tuple[Pending, ...] | None:
    """Return the open questions; None: there are, and messages after a position were stored before them."""
    questions = questions_to_people(job)
    # In this order: the newest message that is read now is not older than the questions.
    newest = newest_entry(job, "dialog") if questions else None
    is_behind = newest is not None and entry_key(newest) > entry_key(position.dialog)
    return None if is_behind else questions
