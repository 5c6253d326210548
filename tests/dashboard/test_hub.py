"""The reader of all changes, on one server, on a cluster, and over the loss of its server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scaling import patient
from servers.redis_nodes import own_cluster
from sessions.submitted import submit_two
from symposia.client import Client
from symposia.client.aio.client import AsyncClient
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import load_settings
from symposia.dashboard.handlers.session_stream import SessionView
from symposia.dashboard.live import hub as hub_module
from symposia.dashboard.live.fragments import Fragments
from symposia.dashboard.live.hub import Hub
from symposia.dashboard.live.open_session import OpenSessions
from symposia.dashboard.live.positions import BEGINNING, read_positions
from symposia.dashboard.live.session_list import SessionList
from symposia.dashboard.views.session.params import SessionParams
from symposia.jobs.conditions import AttentionLimits
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import aconnect, connect
from symposia.state.redis.formats import FORMATS
from symposia.state.redis.keys import DUE, session_key

pytestmark = pytest.mark.long


@pytest.fixture(params=["server", "cluster"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a server, and of a cluster."""
    if request.param == "server":
        with EmbeddedServer(tmp_path / "server", durable=False, bound=True) as server:
            yield server.url
        return
    with own_cluster(tmp_path / "cluster") as cluster:
        yield cluster.url


async def until(sessions: SessionList, condition: Callable[[], object]) -> None:
    """Waits for changes of the list until the condition is true."""
    async with asyncio.timeout(patient(30)):
        while not condition():
            await sessions.wait_for_change(sessions.revision, timeout_s=0.1)


def statuses(sessions: SessionList) -> dict[str, str]:
    return {row["title"]: row["status"] for row in sessions.rows()}


@asynccontextmanager
async def hub_of(url: str) -> AsyncIterator[tuple[Hub, SessionList]]:
    """A hub that runs while the context lasts."""
    redis, sessions = aconnect(url), SessionList()
    hub = Hub(redis, sessions, limits=AttentionLimits(60_000), retention_ms=60_000)
    try:
        await hub.start()
        yield hub, sessions
    finally:
        await hub.stop()
        await redis.aclose()


def run(
    follow: Callable[[Client], Coroutine[None, None, None]], url: str, broker_url: str, folder: Path
) -> None:
    """Runs a test with a client of the server; a cluster cannot be the broker."""
    settings = load_settings(redis_url=url, broker_url=broker_url, data_dir=str(folder))
    with Client(settings, worker_grace_s=1) as client:
        asyncio.run(follow(client))


async def parts_of(hub: Hub, session_id: str, wanted: str) -> str:
    """The stream of the first entry of a session with a text."""
    async with (
        asyncio.timeout(patient(30)),
        aclosing(hub.streams.follow(session_id, after=read_positions(BEGINNING))) as found,
    ):
        async for entries in found:
            for entry in entries:
                if wanted in entry.text:
                    return entry.part
    raise AssertionError("the stream has ended")


def test_hub_follows_all_sessions_and_single_streams(url: str, redis_url: str, tmp_path: Path):
    async def follow(client: Client) -> None:
        first = submit_two(client, "Before")
        async with hub_of(url) as (hub, sessions):
            assert statuses(sessions) == {"Before": "active"}
            jobs = [submit_two(client, f"Line {number}") for number in range(4)]
            await until(sessions, lambda: len(sessions) == 5)
            assert await parts_of(hub, first.id, "MAPSessionStarted") == "events"
            posted = asyncio.create_task(parts_of(hub, first.id, "message.posted"))
            await asyncio.sleep(0)
            first.post("hello")
            assert await posted == "journal"
            jobs[2].suspend()
            await until(sessions, lambda: statuses(sessions)["Line 2"] == "suspended")
            jobs[3].cancel()
            await until(sessions, lambda: statuses(sessions)["Line 3"] == "cancelled")
            assert sessions.counts["active"] == 3

    run(follow, url, redis_url, tmp_path)


def test_changes_of_many_sessions_are_read_together(
    redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(hub_module, "_PAUSE_PER_STREAM_S", 1.0)

    async def follow(client: Client) -> None:
        jobs = [submit_two(client, f"Line {number}") for number in range(10)]
        with connect(redis_url) as redis:
            async with hub_of(redis_url) as (_, sessions):
                began = time.monotonic()
                redis.config_resetstat()
                for job in jobs:
                    await asyncio.to_thread(job.suspend)
                await until(sessions, lambda: set(statuses(sessions).values()) == {"suspended"})
                reads = redis.info("commandstats")["cmdstat_xread"]["calls"]
                most = (time.monotonic() - began) / hub_module._MAX_PAUSE_S + 2
                assert 1 <= reads <= most

    run(follow, redis_url, redis_url, tmp_path)


def test_cancelled_session_is_sent_once(redis_url: str, tmp_path: Path):
    async def follow(client: Client) -> None:
        job = submit_two(client, "Cancelled")
        async with hub_of(redis_url) as (hub, sessions):
            job.cancel()
            await until(sessions, lambda: statuses(sessions) == {"Cancelled": "cancelled"})
            # No worker sweeps it: it stays in the index of due sessions.
            with connect(redis_url) as redis:
                assert redis.zscore(DUE, job.id) is not None
            revision = sessions.revision
            for _ in range(3):
                await hub._find_all()
            assert sessions.revision == revision
            assert not await sessions.wait_for_change(revision, timeout_s=0.1)

    run(follow, redis_url, redis_url, tmp_path)


class StatusHtml:
    """Renders the status of a session only."""

    def fragments(self, _shown: object, row: Any, *_others: object) -> Fragments:
        return Fragments({"status": row["status"]})


def test_page_is_followed_until_the_list_has_the_end(redis_url: str, tmp_path: Path):
    async def follow(client: Client) -> None:
        job = submit_two(client, "Ends")
        settings = load_settings(redis_url=redis_url, data_dir=str(tmp_path))
        async with hub_of(redis_url) as (hub, sessions), AsyncClient(settings) as reader:
            await hub.stop()
            job.cancel()
            services: Any = SimpleNamespace(client=reader, sessions=sessions, hub=hub)
            opened, html = OpenSessions(reader, hub.streams), StatusHtml()
            view = SessionView(services, opened, html, job.id, SessionParams())
            assert (await view.read()).html == {"status": "active"}
            assert view.opened.is_complete
            assert not view.is_complete
            await hub.start()
            await until(sessions, lambda: statuses(sessions) == {"Ends": "cancelled"})
            assert (await view.read()).html == {"status": "cancelled"}
            assert view.is_complete

    run(follow, redis_url, redis_url, tmp_path)


def test_damaged_keys_do_not_delay_other_sessions(
    url: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(hub_module, "_WHOLE_EVERY", 1)

    async def follow(client: Client) -> None:
        jobs = {part: submit_two(client, part) for part in ("events", "journal", "fields", "text", "intact")}
        async with hub_of(url) as (_, sessions):
            with connect(url) as redis:
                for part in ("events", "journal"):
                    redis.delete(session_key(jobs[part].id, part))
                    redis.set(session_key(jobs[part].id, part), "no stream")
                redis.hset(session_key(jobs["fields"].id, "session"), "rounds", "odd")
                redis.xadd(session_key(jobs["fields"].id, "journal"), {"entry": "{}"})
                event = '{"event_type":"MAPTurnCompleted","payload":{"result":"text"}}'
                redis.xadd(session_key(jobs["text"].id, "events"), {"event": event})
            jobs["intact"].suspend()
            await until(sessions, lambda: statuses(sessions)["intact"] == "suspended")
            later = submit_two(client, "Later")
            await until(sessions, lambda: later.id in sessions)
            later.suspend()
            await until(sessions, lambda: statuses(sessions)["Later"] == "suspended")
            await until(sessions, lambda: sessions.counts["unreadable"] == 2)
            for part, name in (("events", jobs["events"].id), ("session", jobs["fields"].id)):
                row = sessions.get(name)
                assert row is not None
                assert str(row["attention_text"]).startswith(f"{part} of session '{name}' cannot be read")
                assert (row["title"], row["status"]) != ("", "")
            with connect(url) as redis:
                redis.hset(session_key(jobs["fields"].id, "session"), "rounds", "0")
                redis.delete(*(session_key(jobs["events"].id, it) for it in ("session", "events")))
            await until(sessions, lambda: sessions.counts["unreadable"] == 0)
            assert jobs["fields"].id in sessions
            assert jobs["events"].id not in sessions

    run(follow, url, redis_url, tmp_path)


def test_session_of_a_newer_version_is_listed_with_the_error(redis_url: str, tmp_path: Path):
    async def follow(client: Client) -> None:
        job = submit_two(client, "Newer")
        with connect(redis_url) as redis:
            redis.hset(session_key(job.id, "session"), "format", FORMATS["session"] + 1)
        async with hub_of(redis_url) as (_, sessions):
            await until(sessions, lambda: sessions.counts["unreadable"] == 1)
            row = sessions.get(job.id)
            assert row is not None
            assert "was written by a newer version of Symposia" in str(row["attention_text"])

    run(follow, redis_url, redis_url, tmp_path)


def test_session_that_no_worker_sweeps_is_stuck(redis_url: str, tmp_path: Path):
    async def follow(client: Client) -> None:
        job = submit_two(client, "Unswept")
        with connect(redis_url) as redis:
            WorkerPresence(redis).announce("idle@here", ["say"])
            redis.zadd(DUE, {job.id: 1_000})
        async with hub_of(redis_url) as (_, sessions):
            await until(sessions, lambda: sessions.counts["stuck"] == 1)
            row = sessions.get(job.id)
            assert row is not None
            assert row["attention_text"] == "no worker sweeps it"

    run(follow, redis_url, redis_url, tmp_path)


def test_unexpected_errors_are_logged(
    redis_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(hub_module, "_RETRY_S", 0.01)

    async def follow() -> int:
        calls, has_continued = 0, asyncio.Event()

        async def step() -> None:
            nonlocal calls
            calls += 1
            if calls <= 2:
                raise ValueError("an unexpected one")
            has_continued.set()
            await asyncio.sleep(0)

        async with hub_of(redis_url) as (hub, _), asyncio.timeout(patient(30)):
            loop = asyncio.create_task(hub._repeat(step))
            await has_continued.wait()
            loop.cancel()
        return calls

    assert asyncio.run(follow()) >= 3
    assert caplog.text.count("ValueError: an unexpected one") == 1


def test_hub_continues_when_its_server_is_back(
    redis_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    async def follow(server: EmbeddedServer) -> None:
        settings = load_settings(redis_url=server.url, broker_url=redis_url, data_dir=str(tmp_path))
        with Client(settings, worker_grace_s=1) as client:
            kept = submit_two(client, "Kept")
            async with hub_of(server.url) as (_, sessions):
                server.stop()
                await until(sessions, lambda: "live pages are delayed" in caplog.text)
                assert statuses(sessions) == {"Kept": "active"}
                server.start()
                kept.suspend()
                submit_two(client, "Afterwards")
                wanted = {"Kept": "suspended", "Afterwards": "active"}
                await until(sessions, lambda: statuses(sessions) == wanted)

    with EmbeddedServer(tmp_path / "server", bound=True) as server:
        asyncio.run(follow(server))
