"""`AsyncClient`: the methods of `Client` for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

from ...jobs.progress import as_completed
from ..client import Client
from .async_methods import AsyncWrapper, CallThreads, async_method, converting_method, document_as
from .jobs import AsyncCollabJob, AsyncReviewJob, blocking_job

if TYPE_CHECKING:
    from celery import Celery

    from ...config.settings import Settings
    from ...jobs.collab import CollabJob
    from ...models.sessions.submission import Submission
    from .jobs import (
        AsyncConversations,
        AsyncDialogMemory,
        AsyncLongTermMemory,
        AsyncSchedules,
        AsyncTokenStore,
        AsyncWebhooks,
    )

P = ParamSpec("P")
R = TypeVar("R")


def _jobs(jobs: Sequence[CollabJob], threads: CallThreads) -> list[AsyncCollabJob]:
    return [AsyncCollabJob(job, threads) for job in jobs]


class AsyncClient(AsyncWrapper[Client]):
    """`Client` for asyncio: each method is awaited, and no call blocks the event loop.

        async with AsyncClient() as client:
            job = await client.submit(collab, agents=agents)
            async for message in job.messages(follow=True):
                print(message.speaker, message.content)

    Args:
        settings: The settings of the installation. None: those of `app`, or else of this process.
        redis_url: The Redis of the sessions, instead of that of the settings. None: that of the settings.
        app: A Celery app on which Symposia is installed, which sends the tasks; `close` leaves it open. None: the client
            makes one.
        worker_grace_s: Seconds without a running worker before a call that waits logs a warning. Above 0,
            `submit` logs none.
        max_threads: Maximum number of blocking calls at the same time, and of open iterators of `live()`.
            More of them wait. `stream()`, `messages()`, `events()` and `result()` need no thread to wait.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        redis_url: str | None = None,
        app: Celery | None = None,
        worker_grace_s: float = 0.0,
        max_threads: int = 16,
    ) -> None:
        super().__init__(self._client, CallThreads(max_threads))
        self._make = partial(Client, settings, redis_url=redis_url, app=app, worker_grace_s=worker_grace_s)
        self._made: Client | None = None
        self._making = Lock()

    def _client(self) -> Client:
        """Return the blocking client. It is created in a thread, because that may call a server."""
        with self._making:
            if self._made is None:
                self._threads.check_open()
                self._made = self._make()
            return self._made

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections that the client opened. A second call does nothing."""
        self._threads.close()
        await self._threads.hubs.close()
        if self._made is not None:
            await asyncio.to_thread(self._made.close)

    async def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a blocking function in a thread of the client, such as a method of what `archived` returns.

        Args:
            function: The function.
            args: Its positional arguments.
            kwargs: Its keyword arguments.

        Returns:
            What the function returns.

        Raises:
            ClientClosed: The client is closed.
        """
        return await self._threads.run_call(function, *args, **kwargs)

    submit = converting_method(Client.submit, AsyncCollabJob, "AsyncCollabJob")
    find_thread = async_method(Client.find_thread)
    thread = converting_method(Client.thread, _jobs, "list[AsyncCollabJob]")
    submit_many = converting_method(Client.submit_many, _jobs, "list[AsyncCollabJob]")
    get_job = converting_method(Client.get_job, AsyncCollabJob, "AsyncCollabJob")
    jobs = converting_method(Client.jobs, _jobs, "list[AsyncCollabJob]")
    inbox = async_method(Client.inbox)
    inbox_page = async_method(Client.inbox_page)
    replay = async_method(Client.replay)
    compare = async_method(Client.compare)
    evaluate = async_method(Client.evaluate)
    restore = converting_method(Client.restore, AsyncCollabJob, "AsyncCollabJob")
    review = converting_method(Client.review, AsyncReviewJob, "AsyncReviewJob")
    review_sessions = converting_method(Client.review_sessions, AsyncReviewJob, "AsyncReviewJob")
    reviews = async_method(Client.reviews)
    review_trend = async_method(Client.review_trend)
    review_decisions = async_method(Client.review_decisions)
    forget_review_decision = async_method(Client.forget_review_decision)
    reply_to_review_comment = async_method(Client.reply_to_review_comment)
    get_review = converting_method(Client.get_review, AsyncReviewJob, "AsyncReviewJob")
    archived = async_method(Client.archived)
    tenant = async_method(Client.tenant)
    known_agents = async_method(Client.known_agents)

    @document_as(Client.each_job, "AsyncIterator[AsyncCollabJob]")
    async def each_job(self) -> AsyncGenerator[AsyncCollabJob, None]:  # noqa: D102 - as the verb
        jobs = self._threads.run_iterator(lambda: self._blocking().each_job())
        async with aclosing(jobs):
            async for job in jobs:
                yield AsyncCollabJob(job, self._threads)

    @document_as(Client.as_completed, "AsyncIterator[AsyncCollabJob]")
    async def as_completed(  # noqa: D102 - documented as the verb
        self, jobs: Iterable[AsyncCollabJob], *, timeout: float | None = None, progress: bool | None = None
    ) -> AsyncGenerator[AsyncCollabJob, None]:
        blocking = [blocking_job(job) for job in jobs]
        ended = self._threads.run_iterator(as_completed, blocking, timeout=timeout, progress=progress)
        async with aclosing(ended):
            async for job in ended:
                yield AsyncCollabJob(job, self._threads)

    @property
    def schedules(self) -> AsyncSchedules:
        """Schedules: sessions and reviews at set times."""
        from .jobs import AsyncSchedules

        return AsyncSchedules(lambda: self._blocking().schedules, self._threads)

    @property
    def webhooks(self) -> AsyncWebhooks:
        """Webhooks: signed events of sessions and reviews to other systems."""
        from .jobs import AsyncWebhooks

        return AsyncWebhooks(lambda: self._blocking().webhooks, self._threads)

    @property
    def memory(self) -> AsyncDialogMemory:
        """Dialog memory: parameters remembered for users, by room."""
        from .jobs import AsyncDialogMemory

        return AsyncDialogMemory(lambda: self._blocking().memory, self._threads)

    @property
    def recollections(self) -> AsyncLongTermMemory:
        """Long-term memory: texts that later sessions of a user, room or tenant recall."""
        from .jobs import AsyncLongTermMemory

        return AsyncLongTermMemory(lambda: self._blocking().recollections, self._threads)

    @property
    def tokens(self) -> AsyncTokenStore:
        """Tokens of callers over HTTP."""
        from .jobs import AsyncTokenStore

        return AsyncTokenStore(lambda: self._blocking().tokens, self._threads)

    @property
    def conversations(self) -> AsyncConversations:
        """Tasks and their conversations. Their methods raise ArchiveError if no archive is configured."""
        from .jobs import AsyncConversations

        return AsyncConversations(lambda: self._blocking().conversations, self._threads)


async def call_with_client(client: AsyncClient, function: Callable[[Client], R]) -> R:
    """Call a blocking function with the blocking client, in a thread. Only for servers."""
    return await client.run(lambda: function(client._blocking()))  # noqa: SLF001 - the only access


async def submit_read(client: AsyncClient, submission: Submission) -> AsyncCollabJob:
    """Submit what was read and checked before, such as the body of a request. Only for servers.

    Raises:
        InvalidInput, SessionConflict, RedisUnavailable: As `Client.submit`.
    """
    job = await call_with_client(client, lambda blocking: blocking._submit(submission))  # noqa: SLF001 - as above
    return AsyncCollabJob(job, client._threads)  # noqa: SLF001 - as above
