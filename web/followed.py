"""A session as readers of other protocols follow it: messages, words, questions, the end, each as a value."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from ..client.aio.jobs import AsyncCollabJob, blocking_job
from ..client.aio.updates import follow_updates
from ..jobs.collab import CollabJob
from ..jobs.reading import streams_of
from ..models.protocol.dialog import Message
from ..models.turns.streaming import Delta
from ..models.turns.waiting import Pending
from ..state.redis.readers import read_message
from ..state.streams.updates import UpdateCursor
from .context import WebContext
from .events import StopFollowing
from .questions import is_asking, open_questions


@dataclass(frozen=True, slots=True)
class Ended:
    """The session has ended, or only the archive has it."""


#: None: nothing happened for two seconds.
Followed = Message | Delta | Pending | Ended | None


async def newest_cursor(context: WebContext, job: AsyncCollabJob) -> UpdateCursor:
    """Return the position after all that is stored now."""
    return await context.client.run(_newest_cursor, blocking_job(job))


def _newest_cursor(job: CollabJob) -> UpdateCursor:
    cursor, streams = UpdateCursor(), streams_of(job)
    for stream in ("dialog", "events", "journal"):
        if newest := streams.newest_page(job.id, stream, count=1):
            cursor = cursor.after(stream, newest[0][0])
    return cursor


async def follow_session(
    context: WebContext, job: AsyncCollabJob, *, after: UpdateCursor, deltas: bool
) -> AsyncGenerator[Followed, None]:
    """Yield what happens in a session until it has ended: first the questions that are open.

    Args:
        context: The context of the server.
        job: The session.
        after: Position to start after.
        deltas: Whether the output of running turns is yielded, too.

    Raises:
        StopFollowing: The server stops.
        SessionNotFound: The session has expired.
    """
    asked: set[str] = set()
    for question in await _new_questions(context, job, asked):
        yield question
    async with aclosing(follow_updates(job, after=after, deltas=deltas)) as pages:
        async for page in pages:
            if context.closing.is_set():
                raise StopFollowing
            if not page:
                yield None
            for update in page:
                if isinstance(update, Delta):
                    yield update
                elif update.stream == "dialog":
                    yield read_message((update.entry_id, update.text), job.id)
            if any(map(is_asking, page)):
                for question in await _new_questions(context, job, asked):
                    yield question
    yield Ended()


async def _new_questions(context: WebContext, job: AsyncCollabJob, asked: set[str]) -> list[Pending]:
    open_now = await open_questions(context, job)
    new = [question for question in open_now if question.reply_token not in asked]
    asked.update(question.reply_token for question in new)
    return new
