"""`AsyncClient` has a twin of every verb, blocks no event loop, and stops what its caller no longer wants."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from redis import Redis

from live import until
from scaling import patient
from symposia import AsyncClient, AsyncCollabJob, AsyncReviewJob, ResultTimeout, SessionNotFound
from symposia.client import Client
from symposia.client.aio.async_methods import CallThreads
from symposia.client.aio.jobs import (
    AsyncConversations,
    AsyncDialogMemory,
    AsyncLongTermMemory,
    AsyncSchedules,
    AsyncTokenStore,
    AsyncWebhooks,
)
from symposia.client.webhooks.service import Webhooks
from symposia.config.settings import load_settings
from symposia.errors import ClientClosed
from symposia.jobs.collab import CollabJob
from symposia.memory.long_term import LongTermMemory
from symposia.memory.rooms import DialogMemory
from symposia.reviews.job import ReviewJob
from symposia.schedules.schedules import Schedules
from symposia.state.tokens import TokenStore
from symposia.workspace.service import WorkspaceService

pytestmark = pytest.mark.leaves_keys  # those of sessions that the archive does not have yet

TWINS = {
    Client: AsyncClient,
    CollabJob: AsyncCollabJob,
    ReviewJob: AsyncReviewJob,
    Schedules: AsyncSchedules,
    TokenStore: AsyncTokenStore,
    Webhooks: AsyncWebhooks,
    DialogMemory: AsyncDialogMemory,
    LongTermMemory: AsyncLongTermMemory,
    WorkspaceService: AsyncConversations,
}
PAIR = {"title": "t", "purpose": "p", "mode": "pair", "participants": [{"participant_id": n} for n in "ab"]}


def verbs(kind: type) -> dict[str, Callable[..., object]]:
    return {name: it for name, it in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def parameters(verb: Callable[..., object]) -> list[tuple[str, object, object]]:
    found = list(inspect.signature(verb).parameters.values())[1:]
    return [(it.name, it.kind, it.default if it.name != "on_progress" else None) for it in found]


@pytest.fixture
def client(redis_url: str, tmp_path: Path) -> AsyncClient:
    return AsyncClient(load_settings(redis_url=redis_url, data_dir=tmp_path, archive=True), max_threads=2)


@pytest.mark.parametrize("kind", TWINS, ids=lambda kind: kind.__name__)
def test_every_method_has_an_async_twin(kind: type):
    ours, blocking = verbs(TWINS[kind]), verbs(kind)
    assert ours.keys() - blocking.keys() <= {"run", "spec"}
    for name, verb in blocking.items():
        twin = ours[name]
        assert inspect.iscoroutinefunction(twin) or inspect.isasyncgenfunction(twin), name
        assert parameters(twin) == parameters(verb), name
        assert name == "close" or inspect.getdoc(twin) == inspect.getdoc(verb), name


def test_session_is_submitted_followed_and_cancelled(client: AsyncClient):
    async def main() -> None:
        async with client:
            job = await client.submit(PAIR, messages=["hello"])
            assert isinstance(job, AsyncCollabJob)
            assert job.is_live
            assert (
                [it.id async for it in client.each_job()] == [job.id] == [it.id for it in await client.jobs()]
            )
            assert (await client.get_job(job.id[:8])).id == job.id
            assert (await job.spec()).agents["a"].agent == "a"
            with pytest.raises(ResultTimeout):
                await job.result(timeout=0.1)
            following = asyncio.create_task(contents(job))
            ending = asyncio.create_task(job.result())
            await job.cancel("enough")
            assert await following == ["hello"]
            assert (await ending).detail == "enough" or (await ending).reason == "enough"
            assert [it.event_type async for it in job.events()][-1] == "MAPSessionCompleted"
            assert [it.content async for it in job.stream()] == ["hello"]
            with pytest.raises(SessionNotFound):
                await client.get_job("0e8a4c5e-7b0c-4b8e-9f57-0a4b3f1f2d11")

    asyncio.run(main())


async def contents(job: AsyncCollabJob) -> list[str]:
    return [it.content async for it in job.messages(follow=True)]


def test_services_are_asynchronous(client: AsyncClient):
    async def main() -> None:
        async with client:
            assert await client.memory.store(1, "room", {"to": "London"}, service="travel")
            assert (await client.memory.merge(1, "room", {}))["to"] == "London"
            assert await client.schedules.entries() == []
            assert (await client.conversations.task_list("ann")).items == ()
            assert (await client.tenant("acme")).turns == 0
            assert await client.known_agents() == frozenset()

    asyncio.run(main())


def test_review_is_followed(client: AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "app.py").write_text("import os\n")
    monkeypatch.chdir(tmp_path)

    async def main() -> None:
        async with client:
            job = await client.review("app.py")
            views = []
            with pytest.raises(TimeoutError):
                await job.result(timeout=0, on_progress=views.append)
            assert [it.total for it in views] == [1]
            assert (await job.run()).panel == "code"
            assert await job.cancel()

    asyncio.run(main())


def test_async_calls_run_in_a_bounded_thread_pool(client: AsyncClient):
    """Two calls that only the event loop can release, and a third that waits for a thread."""
    release, running = threading.Event(), threading.Semaphore(0)

    def block() -> str:
        running.release()
        assert release.wait(patient(20))
        return threading.current_thread().name

    async def main() -> list[str]:
        calls = [asyncio.create_task(client.run(block)) for _ in range(3)]
        for _ in range(2):
            await asyncio.to_thread(running.acquire)
        assert not running.acquire(blocking=False)
        release.set()
        names = await asyncio.gather(*calls)
        await client.close()
        return names

    assert len({*asyncio.run(main())}) <= 2


@pytest.mark.parametrize("how", ["break", "cancel"])
def test_stream_ends_with_its_consumer(how: str):
    closed = threading.Event()

    def count() -> Iterator[int]:
        try:
            yield from range(1_000_000_000)
        finally:
            closed.set()

    async def consume(threads: CallThreads) -> None:
        async with aclosing(threads.run_iterator(count)) as items:
            async for item in items:
                if how == "break" and item == 3:
                    return

    async def main() -> None:
        threads = CallThreads(1)
        task = asyncio.create_task(consume(threads))
        if how == "cancel":
            await asyncio.sleep(0)
            await threads.run_call(int)
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await asyncio.to_thread(closed.wait, 20)
        threads.close()

    asyncio.run(main())


def test_followers_leave_no_connection(client: AsyncClient, redis_url: str):
    async def main(observer: Redis) -> None:
        def readers() -> list[object]:
            return [it for it in observer.client_list() if it["cmd"] == "xread"]

        async with client:
            job = await client.submit(PAIR)
            tasks = [asyncio.create_task(contents(job)), asyncio.create_task(drafts(job))]
            await asyncio.to_thread(until, lambda: len(readers()) == 1, what="they share a read")
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await job.cancel()
        until(lambda: not readers(), what="nobody reads")

    with Redis.from_url(redis_url, decode_responses=True) as observer:
        asyncio.run(main(observer))


async def drafts(job: AsyncCollabJob) -> None:
    async for _ in job.stream():
        pass


def test_closed_client_raises(client: AsyncClient):
    async def main() -> None:
        async with client:
            job = await client.submit(PAIR)
            following = asyncio.create_task(contents(job))
            waiting = asyncio.create_task(job.result())
            await job.state()
        await client.close()
        for task in (following, waiting):
            with pytest.raises(ClientClosed):
                await task
        for call in (client.jobs(), job.status(), job.result(), contents(job), client.schedules.entries()):
            with pytest.raises(ClientClosed):
                await call

    asyncio.run(main())


def test_unused_client_can_be_closed(client: AsyncClient):
    async def main() -> None:
        await client.close()
        with pytest.raises(ClientClosed):
            await client.jobs()

    asyncio.run(main())
