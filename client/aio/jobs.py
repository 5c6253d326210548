"""Twins of the jobs that a client returns.

Following the messages, the events or the end of a live session takes a connection and no thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from ...jobs.collab import CollabJob, JobResult, connections_of, pieces_of
from ...models.errors import ResultTimeout
from ...models.protocol.dialog import Message
from ...models.protocol.events import MapEvent
from ...models.review.runs import ReviewRun
from ...models.sessions.spec import SessionSpec
from ...models.turns.deltas import Delta
from ...reviews.job import ReviewJob
from ...state.following.event_follower import END_ONLY, afollow
from ...state.redis.connect import aconnect
from ...state.redis.stored import read_stored
from ...state.redis.streams import Stream
from ...state.reviews.records import BatchView
from .threads import Threads
from .twins import Asynchronous, awaited, documented, iterated


class AsyncCollabJob(Asynchronous[CollabJob]):
    """`CollabJob` for asyncio.

    Args:
        job: The blocking job.
        threads: Where blocking calls are made.
    """

    def __init__(self, job: CollabJob, threads: Threads) -> None:
        super().__init__(lambda: job, threads)
        self.id = job.id

    def __repr__(self) -> str:
        return f"AsyncCollabJob({self.id!r})"

    async def spec(self) -> SessionSpec:
        """Return what the session is run with: agents, stop conditions, options and policies."""
        return await self._threads.call(lambda: self._blocking().spec)

    state = awaited(CollabJob.state)
    status = awaited(CollabJob.status)
    queued_for_s = awaited(CollabJob.queued_for_s)
    turn_state = awaited(CollabJob.turn_state)
    collab = awaited(CollabJob.collab)
    dialog = awaited(CollabJob.dialog)
    ledger = awaited(CollabJob.ledger)
    transcript = awaited(CollabJob.transcript)
    board = awaited(CollabJob.board)
    usage = awaited(CollabJob.usage)
    graph = awaited(CollabJob.graph)
    suspend = awaited(CollabJob.suspend)
    resume = awaited(CollabJob.resume)
    stop = awaited(CollabJob.stop)
    cancel = awaited(CollabJob.cancel)
    add_participant = awaited(CollabJob.add_participant)
    remove_participant = awaited(CollabJob.remove_participant)
    instruct = awaited(CollabJob.instruct)
    post = awaited(CollabJob.post)
    pending = awaited(CollabJob.pending)
    reply = awaited(CollabJob.reply)
    live = iterated(CollabJob.live)

    @documented(CollabJob.messages, "AsyncIterator[Message]")
    async def messages(  # noqa: D102 - documented as the verb
        self, *, follow: bool = False
    ) -> AsyncGenerator[Message, None]:
        job = self._blocking()
        if follow and job.is_live:
            async for text in self._follow("dialog"):
                yield read_stored(Message, text, session_id=self.id, part="dialog")
            return
        for message in await self._threads.call(lambda: list(job.messages(follow=follow))):
            yield message

    @documented(CollabJob.events, "AsyncIterator[MapEvent]")
    async def events(  # noqa: D102 - documented as the verb
        self, *, follow: bool = False
    ) -> AsyncGenerator[MapEvent, None]:
        job = self._blocking()
        if follow and job.is_live:
            async for text in self._follow("events"):
                yield read_stored(MapEvent, text, session_id=self.id, part="events")
            return
        for event in await self._threads.call(lambda: list(job.events(follow=follow))):
            yield event

    @documented(CollabJob.stream, "AsyncIterator[Delta | Message]")
    async def stream(self) -> AsyncGenerator[Delta | Message, None]:  # noqa: D102
        async with aclosing(self.live()) as moments:
            async for moment in moments:
                for piece in pieces_of(moment):
                    yield piece

    @documented(CollabJob.result)
    async def result(self, timeout: float | None = None) -> JobResult:  # noqa: D102
        job = self._blocking()
        if job.is_live:
            try:
                async with asyncio.timeout(timeout):
                    async for _ in self._follow("events", after=END_ONLY):
                        pass
            except TimeoutError:
                raise ResultTimeout(self.id, timeout_s=timeout or 0) from None
        return await self._threads.call(job.result)

    async def _follow(self, stream: Stream, *, after: str = "0") -> AsyncGenerator[str, None]:
        """Read a stream of a live session until it has ended, without a thread."""
        self._threads.check_open()
        to = connections_of(self._blocking())
        watch = to.watch_workers(f"session {self.id}")

        async def look() -> None:
            self._threads.check_open()
            if watch.is_due():
                await self._threads.call(watch.look)

        async with aconnect(to.redis_url) as client:
            async for _, text in afollow(client, self.id, stream, after=after, waiting=look):
                yield text


class AsyncReviewJob(Asynchronous[ReviewJob]):
    """`ReviewJob` for asyncio.

    Args:
        job: The blocking job.
        threads: Where blocking calls are made.
    """

    def __init__(self, job: ReviewJob, threads: Threads) -> None:
        super().__init__(lambda: job, threads)
        self.id = job.id

    def __repr__(self) -> str:
        return f"AsyncReviewJob({self.id!r})"

    progress = awaited(ReviewJob.progress)
    follow = iterated(ReviewJob.follow)
    run = awaited(ReviewJob.run)
    cancel = awaited(ReviewJob.cancel)
    retry = awaited(ReviewJob.retry)

    @documented(ReviewJob.result)
    async def result(  # noqa: D102
        self, timeout: float | None = None, *, on_progress: Callable[[BatchView], None] = lambda _: None
    ) -> ReviewRun:
        async with aclosing(self.follow(timeout)) as views:
            async for view in views:
                on_progress(view)
        return await self.run()
