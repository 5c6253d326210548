"""Asynchronous jobs, review jobs, schedules, dialog memory, tasks and conversations.

Followers of messages, events, output and the end of live sessions share two connections, and need no thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any

from ...agents.execution.running import refuse_wait_in_turn
from ...jobs.blocking import blocks_worker
from ...jobs.collab import NO_QUESTION, CollabJob
from ...jobs.questions import QuestionReader
from ...jobs.reading import check_task, connections_of, dialog_cursor, watch_of
from ...jobs.result import JobResult
from ...memory.long_term import LongTermMemory
from ...memory.rooms import DialogMemory
from ...models.errors import ResultTimeout
from ...models.protocol.dialog import Message
from ...models.protocol.events import MapEvent
from ...models.sessions.options import AgentBinding
from ...models.sessions.spec import SessionSpec
from ...models.sessions.subsessions import ParentRef
from ...models.turns.streaming import Delta
from ...models.turns.waiting import Pending
from ...reviews.job import ReviewJob
from ...reviews.state.records import BatchView
from ...reviews.values.runs import ReviewRun
from ...schedules.schedules import Schedules
from ...state.following import END_ONLY, afollow
from ...state.redis.readers import Entry, Stream, read_message, read_stored
from ...state.streams.hub import HubReader
from ...state.streams.pieces import astream_pieces
from ...state.tokens import TokenStore
from ...workspace.service import WorkspaceService
from ..webhooks.service import Webhooks
from .async_methods import AsyncWrapper, CallThreads, async_iterator, async_method, document_as


class AsyncCollabJob(AsyncWrapper[CollabJob]):
    """`CollabJob` for asyncio.

    Args:
        job: The blocking job.
        threads: Where blocking calls are made.
    """

    def __init__(self, job: CollabJob, threads: CallThreads) -> None:
        super().__init__(lambda: job, threads)
        self.id = job.id

    def __repr__(self) -> str:
        return f"AsyncCollabJob({self.id!r})"

    @property
    def is_live(self) -> bool:
        """Whether Redis holds the session; False: only the archive does."""
        return self._blocking().is_live

    @property
    def parent(self) -> ParentRef | None:
        """The turn that the session answers; None: it is no sub-session."""
        return self._blocking().parent

    async def spec(self) -> SessionSpec:
        """Return the spec of the session: agents, stop conditions, options and policies."""
        return await self._threads.run_call(lambda: self._blocking().spec)

    @document_as(CollabJob.children)
    async def children(self) -> list[AsyncCollabJob]:  # noqa: D102 - documented as the verb
        jobs = await self._threads.run_call(lambda: self._blocking().children())
        return [AsyncCollabJob(job, self._threads) for job in jobs]

    state = async_method(CollabJob.state)
    status = async_method(CollabJob.status)
    queued_for_s = async_method(CollabJob.queued_for_s)
    turn_state = async_method(CollabJob.turn_state)
    collab = async_method(CollabJob.collab)
    dialog = async_method(CollabJob.dialog)
    ledger = async_method(CollabJob.ledger)
    transcript = async_method(CollabJob.transcript)
    board = async_method(CollabJob.board)
    items = async_method(CollabJob.items)
    usage = async_method(CollabJob.usage)
    descendants = async_method(CollabJob.descendants)
    graph = async_method(CollabJob.graph)
    attachments = async_method(CollabJob.attachments)
    attachment_data = async_method(CollabJob.attachment_data)
    activate = async_method(CollabJob.activate)
    suspend = async_method(CollabJob.suspend)
    resume = async_method(CollabJob.resume)
    stop = async_method(CollabJob.stop)
    cancel = async_method(CollabJob.cancel)
    add_participant = async_method(CollabJob.add_participant)
    remove_participant = async_method(CollabJob.remove_participant)
    instruct = async_method(CollabJob.instruct)
    post = async_method(CollabJob.post)
    pending = async_method(CollabJob.pending)
    reply = async_method(CollabJob.reply)

    @document_as(CollabJob.continue_with)
    async def continue_with(  # noqa: D102
        self,
        text: str,
        *,
        agents: Mapping[str, str | AgentBinding | Mapping[str, Any]] | None = None,
        owner: str | None = None,
    ) -> AsyncCollabJob:
        job = await self._threads.run_call(self._blocking().continue_with, text, agents=agents, owner=owner)
        return AsyncCollabJob(job, self._threads)

    @document_as(CollabJob.fork)
    async def fork(  # noqa: D102
        self,
        *,
        at_turn: int,
        instruct: Mapping[str, str] | None = None,
        agents: Mapping[str, str | AgentBinding | Mapping[str, Any]] | None = None,
        owner: str | None = None,
    ) -> AsyncCollabJob:
        fork = self._blocking().fork
        job = await self._threads.run_call(
            fork, at_turn=at_turn, instruct=instruct, agents=agents, owner=owner
        )
        return AsyncCollabJob(job, self._threads)

    live = async_iterator(CollabJob.live)

    @document_as(CollabJob.messages, "AsyncIterator[Message]")
    async def messages(  # noqa: D102 - documented as the verb
        self, *, follow: bool = False, after: str | None = None
    ) -> AsyncGenerator[Message, None]:
        job = self._blocking()
        if follow and job.is_live:
            cursor = await self._threads.run_call(dialog_cursor, job, after)
            async with aclosing(self._follow("dialog", after=cursor)) as entries:
                async for entry in entries:
                    yield read_message(entry, self.id)
            return
        for message in await self._threads.run_call(lambda: list(job.messages(follow=follow, after=after))):
            yield message

    @document_as(CollabJob.events, "AsyncIterator[MapEvent]")
    async def events(  # noqa: D102 - documented as the verb
        self, *, follow: bool = False
    ) -> AsyncGenerator[MapEvent, None]:
        job = self._blocking()
        if follow and job.is_live:
            async with aclosing(self._follow("events")) as entries:
                async for _, text in entries:
                    yield read_stored(MapEvent, text, session_id=self.id, part="events")
            return
        for event in await self._threads.run_call(lambda: list(job.events(follow=follow))):
            yield event

    @document_as(CollabJob.stream, "AsyncIterator[Delta | Message]")
    async def stream(  # noqa: D102 - documented as the verb
        self, *, after: str | None = None
    ) -> AsyncGenerator[Delta | Message, None]:
        job = self._blocking()
        await self._check_task()
        if not job.is_live:
            for piece in await self._threads.run_call(lambda: list(job.stream(after=after))):
                yield piece
            return
        cursor = await self._threads.run_call(dialog_cursor, job, after)
        async with (
            self._reader() as reader,
            aclosing(astream_pieces(reader, self.id, after=cursor, waiting=self._waiting_check())) as pieces,
        ):
            async for piece in pieces:
                yield piece

    @document_as(CollabJob.result)
    async def result(  # noqa: D102
        self, timeout: float | None = None, *, raise_on_failure: bool = False, allow_join: bool = False
    ) -> JobResult:
        job = self._blocking()
        if job.is_live:
            refuse_wait_in_turn(self.id)
            await self._check_task(allow_join=allow_join)
            try:
                async with asyncio.timeout(timeout) as limit:
                    updates = self._follow("events", after=END_ONLY, limit=limit, allow_join=True)
                    async with aclosing(updates) as entries:
                        async for _ in entries:
                            pass
            except TimeoutError:
                raise ResultTimeout(self.id, timeout_s=timeout or 0) from None
        return await self._threads.run_call(
            job.result, raise_on_failure=raise_on_failure, allow_join=allow_join
        )

    @document_as(CollabJob.wait_for_question)
    async def wait_for_question(  # noqa: D102
        self, timeout: float | None = None, *, allow_join: bool = False
    ) -> Pending | None:
        try:
            async with (
                asyncio.timeout(timeout) as limit,
                aclosing(self._questions(limit, allow_join=allow_join)) as questions,
            ):
                return await anext(questions, None)
        except TimeoutError:
            raise ResultTimeout(self.id, timeout_s=timeout or 0, missed=NO_QUESTION) from None

    @document_as(CollabJob.questions, "AsyncIterator[Pending]")
    async def questions(  # noqa: D102 - documented as the verb
        self, *, allow_join: bool = False
    ) -> AsyncGenerator[Pending, None]:
        await self._check_task(allow_join=allow_join)
        async with aclosing(self._questions(allow_join=allow_join)) as questions:
            async for question in questions:
                yield question

    async def _questions(
        self, limit: asyncio.Timeout | None = None, *, allow_join: bool
    ) -> AsyncGenerator[Pending, None]:
        job = self._blocking()
        if not job.is_live:
            await self._threads.run_call(lambda: list(job.questions()))
            return
        refuse_wait_in_turn(self.id)
        reader = await self._threads.run_call(QuestionReader, job, job.pending)
        while (question := await self._threads.run_call(reader.take)) is not None:
            yield question
        updates = self._follow("journal", after=reader.cursor, limit=limit, allow_join=allow_join)
        async with aclosing(updates) as entries:
            async for _, text in entries:
                if not reader.is_news(text):
                    continue
                while (question := await self._threads.run_call(reader.take)) is not None:
                    yield question

    async def _follow(
        self,
        stream: Stream,
        *,
        after: str = "0",
        limit: asyncio.Timeout | None = None,
        allow_join: bool = False,
    ) -> AsyncGenerator[Entry, None]:
        """Read a stream of a live session until it has ended, without a thread.

        `limit`: the time limit that the caller has entered. Before Python 3.12 its cancellation can be lost.
        """
        await self._check_task(allow_join=allow_join)
        look = self._waiting_check(limit)
        async with (
            self._reader() as reader,
            aclosing(afollow(reader, self.id, stream, after=after, waiting=look)) as entries,
        ):
            async for entry in entries:
                yield entry

    async def _check_task(self, *, allow_join: bool = False) -> None:
        """Refuse a wait in the event loop of a Celery task, which holds a place of the worker's pool meanwhile."""
        if not allow_join and blocks_worker():
            await self._threads.run_call(check_task, self._blocking())

    @asynccontextmanager
    async def _reader(self) -> AsyncGenerator[HubReader, None]:
        """Return a reader that shares the connections of this event loop."""
        self._threads.check_open()
        url = await self._threads.run_call(connections_of(self._blocking()).find_redis_url)
        self._threads.check_open()
        async with self._threads.hubs.reader(url) as reader:
            yield reader

    def _waiting_check(self, limit: asyncio.Timeout | None = None) -> Callable[[], Awaitable[None]]:
        """Return what a follower calls before it waits."""
        watch = watch_of(self._blocking())

        async def look() -> None:
            self._threads.check_open()
            if limit is not None and limit.expired():
                raise asyncio.CancelledError
            if watch.is_due():
                await self._threads.run_call(watch.check)

        return look


class AsyncReviewJob(AsyncWrapper[ReviewJob]):
    """`ReviewJob` for asyncio.

    Args:
        job: The blocking job.
        threads: Where blocking calls are made.
    """

    def __init__(self, job: ReviewJob, threads: CallThreads) -> None:
        super().__init__(lambda: job, threads)
        self.id = job.id

    def __repr__(self) -> str:
        return f"AsyncReviewJob({self.id!r})"

    progress = async_method(ReviewJob.progress)
    follow = async_iterator(ReviewJob.follow)
    run = async_method(ReviewJob.run)
    cancel = async_method(ReviewJob.cancel)
    retry = async_method(ReviewJob.retry)

    @document_as(ReviewJob.result)
    async def result(  # noqa: D102
        self, timeout: float | None = None, *, on_progress: Callable[[BatchView], None] = lambda _: None
    ) -> ReviewRun:
        async with aclosing(self.follow(timeout)) as views:
            async for view in views:
                on_progress(view)
        return await self.run()


class AsyncSchedules(AsyncWrapper[Schedules]):
    """`Schedules` for asyncio."""

    add = async_method(Schedules.add)
    put = async_method(Schedules.put)
    sync = async_method(Schedules.sync)
    entries = async_method(Schedules.entries)
    page = async_method(Schedules.page)
    get = async_method(Schedules.get)
    pause = async_method(Schedules.pause)
    resume = async_method(Schedules.resume)
    remove = async_method(Schedules.remove)
    run_now = async_method(Schedules.run_now)
    history = async_method(Schedules.history)


class AsyncTokenStore(AsyncWrapper[TokenStore]):
    """`TokenStore` for asyncio."""

    create = async_method(TokenStore.create)
    entries = async_method(TokenStore.entries)
    revoke = async_method(TokenStore.revoke)
    find_caller = async_method(TokenStore.find_caller)
    any_valid = async_method(TokenStore.any_valid)


class AsyncWebhooks(AsyncWrapper[Webhooks]):
    """`Webhooks` for asyncio."""

    entries = async_method(Webhooks.entries)
    deliveries = async_method(Webhooks.deliveries)
    send = async_method(Webhooks.send)
    receive = async_method(Webhooks.receive)
    test = async_method(Webhooks.test)


class AsyncDialogMemory(AsyncWrapper[DialogMemory]):
    """`DialogMemory` for asyncio."""

    get = async_method(DialogMemory.get)
    recall = async_method(DialogMemory.recall)
    merge = async_method(DialogMemory.merge)
    store = async_method(DialogMemory.store)
    show = async_method(DialogMemory.show)
    export = async_method(DialogMemory.export)
    forget = async_method(DialogMemory.forget)
    forget_all = async_method(DialogMemory.forget_all)
    rooms = async_method(DialogMemory.rooms)
    share = async_method(DialogMemory.share)
    unshare = async_method(DialogMemory.unshare)
    shared = async_method(DialogMemory.shared)
    counts = async_method(DialogMemory.counts)


class AsyncLongTermMemory(AsyncWrapper[LongTermMemory]):
    """`LongTermMemory` for asyncio."""

    recall = async_method(LongTermMemory.recall)
    remember = async_method(LongTermMemory.remember)
    forget = async_method(LongTermMemory.forget)
    forget_user = async_method(LongTermMemory.forget_user)


class AsyncConversations(AsyncWrapper[WorkspaceService]):
    """`WorkspaceService` for asyncio."""

    request_task = async_method(WorkspaceService.request_task)
    task_list = async_method(WorkspaceService.task_list)
    task_get = async_method(WorkspaceService.task_get)
    task_add_participant = async_method(WorkspaceService.task_add_participant)
    task_remove_participant = async_method(WorkspaceService.task_remove_participant)
    task_leave = async_method(WorkspaceService.task_leave)
    task_close = async_method(WorkspaceService.task_close)
    conversation_create = async_method(WorkspaceService.conversation_create)
    conversation_get = async_method(WorkspaceService.conversation_get)
    conversation_list = async_method(WorkspaceService.conversation_list)
    conversation_update = async_method(WorkspaceService.conversation_update)
    participants_add = async_method(WorkspaceService.participants_add)
    participants_remove = async_method(WorkspaceService.participants_remove)
    archive = async_method(WorkspaceService.archive)
    unarchive = async_method(WorkspaceService.unarchive)
    send = async_method(WorkspaceService.send)
    history = async_method(WorkspaceService.history)
    new_messages = async_method(WorkspaceService.new_messages)
    mark_read = async_method(WorkspaceService.mark_read)
    notices = async_method(WorkspaceService.notices)
    count_abandoned = async_method(WorkspaceService.count_abandoned)
    fail_abandoned = async_method(WorkspaceService.fail_abandoned)


def blocking_job(job: AsyncCollabJob) -> CollabJob:
    """Return the blocking job, whose methods are called in a thread. Only for this package."""
    return job._blocking()  # noqa: SLF001 - the only access


def reader_of(job: AsyncCollabJob) -> AbstractAsyncContextManager[HubReader]:
    """Return a reader of a job that shares the connections of this event loop. Only for this package."""
    return job._reader()  # noqa: SLF001 - the only access


def threads_of(job: AsyncCollabJob) -> CallThreads:
    """Return the threads of a job's client. Only for this package."""
    return job._threads  # noqa: SLF001 - the only access
