"""All updates of one session for a follower over a network: what is stored, and the live output."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from itertools import islice

from ...jobs.collab import CollabJob
from ...jobs.reading import streams_of
from ...models.errors import SessionNotFound
from ...models.turns.streaming import Delta
from ...state.redis.readers import PAGE, Entry, Stream
from ...state.streams.updates import StoredUpdate, UpdateCursor, UpdateReader, merge_entries
from .jobs import AsyncCollabJob, blocking_job, reader_of, threads_of

Updates = Sequence[StoredUpdate | Delta]

#: Milliseconds of one wait.
_BLOCK_MS = 2_000


async def follow_updates(
    job: AsyncCollabJob, *, after: UpdateCursor, deltas: bool = True
) -> AsyncGenerator[Updates, None]:
    """Yield the updates of a session in lists until it has ended, or until the last archived one.

    All followers of an event loop share two connections, and need no thread while a session is live.

    Args:
        job: The session.
        after: Position to start after.
        deltas: Whether the live output is yielded, too.

    Yields:
        The next updates; an empty list if there was none for two seconds.

    Raises:
        SessionNotFound: The session has expired.
    """
    threads, blocking = threads_of(job), blocking_job(job)
    state = await job.state()
    if state.is_final or not job.is_live:
        pages = threads.run_iterator(_stored_pages, blocking, after)
        async with aclosing(pages):
            async for page in pages:
                yield page
        return
    running = [record.token for record in state.open_turns() if record.token is not None]
    updates = UpdateReader(job.id, after, running=running, deltas=deltas)
    async with reader_of(job) as reader:
        while not updates.has_ended:
            if deltas:
                await reader.announce(job.id)
            batches = await reader.read(updates.positions(), count=PAGE, block_ms=_BLOCK_MS)
            yield list(updates.take(batches))
            if not batches and not await reader.exists(job.id):
                raise SessionNotFound(job.id)


def _stored_pages(job: CollabJob, after: UpdateCursor) -> Iterator[Updates]:
    streams = streams_of(job)
    entries: dict[Stream, Iterator[Entry]] = {
        "dialog": streams.all(job.id, "dialog", after=after.dialog),
        "events": streams.all(job.id, "events", after=after.events),
        "journal": streams.all(job.id, "journal", after=after.journal),
    }
    updates = merge_entries(entries, after)
    while page := list(islice(updates, PAGE)):
        yield page
