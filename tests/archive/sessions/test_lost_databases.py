"""A stopped, locked or full database does not affect sessions; they are archived afterwards."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import count
from pathlib import Path
from random import Random

import psutil
import pytest
from redis import Redis
from sqlalchemy import event

from chaos.arena import Arena
from chaos.plays import plays
from live import until
from scaling import patient
from servers.postgres import Postgres, own_database
from sessions.archiving import archive_now, archived, archiver, live
from sessions.table import Table
from symposia.archive.archive import Archive
from symposia.models.errors import ArchiveUnavailable
from symposia.state.redis.keys import ARCHIVE_QUEUE, session_key
from symposia.state.sessions.archiving import ArchiveQueue
from symposia.state.sessions.index import SessionIndex
from symposia.workspace.sql.store import deliver_to_conversation

pytestmark = pytest.mark.leaves_keys

#: Sessions that begin at once, again and again until the outage is over.
SESSIONS = 12
#: Bytes by which a worker may grow in an outage, however long it lasts: what it imports late, and what it has in hand.
GROWTH = 64 * 2**20
Away = Callable[[], AbstractContextManager[None]]

#: Seconds that the database is away: in `make test-all`, and in `make soak`.
outages = pytest.mark.parametrize(
    "away_s",
    [
        pytest.param(
            3, marks=[pytest.mark.long, pytest.mark.timeout(240)]
        ),  # a machine that is loaded takes its time
        pytest.param(60, marks=[pytest.mark.soak, pytest.mark.timeout(600)]),
    ],
)


def weight(arena: Arena) -> int:
    """Bytes of memory of the worker that weighs most."""
    return max(psutil.Process(member.pid).memory_info().rss for member in arena.crew.members)


def survives(arena: Arena, archive: Archive, away: Away, *, away_s: float) -> None:
    """Run sessions during a database outage and check that all of them are archived afterwards."""
    redis = arena.server.client
    owed = ArchiveQueue(redis)
    seeds = count()
    warm = arena.run(plays(Random(next(seeds)), SESSIONS))
    assert not warm.findings
    before = weight(arena)
    ended: list[str] = []
    with away():
        until_s = time.monotonic() + away_s
        while not ended or time.monotonic() < until_s:
            outcome = arena.run(plays(Random(next(seeds)), SESSIONS), think_ms=20)
            assert not outcome.findings, outcome.findings[:5]
            ended += outcome.evidence
        assert owed.count() >= len(ended)
        assert all(redis.ttl(session_key(it, "session")) == -1 for it in ended), (
            "nothing expires that is owed"
        )
        assert weight(arena) - before < GROWTH
    until(
        lambda: all(redis.hget(session_key(it, "session"), "archive") == "kept" for it in ended),
        timeout_s=100,
        what="the archive has all of it",
    )
    for session_id in ended:
        there, was = archived(archive, session_id), live(redis, session_id)
        assert (there["dialog"], there["events"]) == (was["dialog"], was["events"])
        assert 0 < redis.ttl(session_key(session_id, "session")) <= arena.settings["retention_s"]


@outages
def test_sessions_continue_with_postgresql_stopped(tmp_path: Path, postgres: Postgres, away_s: float) -> None:
    @contextmanager
    def stopped() -> Iterator[None]:
        postgres.stop()
        try:
            yield
        finally:
            postgres.start()

    with own_database(postgres.url) as url, closing(Archive(url, deliver_to_conversation)) as archive:
        archive.prepare()
        with Arena(tmp_path, database_url=url) as arena:
            survives(arena.with_workers(2), archive, stopped, away_s=away_s)


@outages
def test_sessions_continue_with_a_locked_archive(tmp_path: Path, away_s: float) -> None:
    file = tmp_path / "archive.sqlite3"

    @contextmanager
    def held() -> Iterator[None]:
        with closing(sqlite3.connect(file, isolation_level=None, timeout=patient(60))) as sql:
            sql.execute("BEGIN EXCLUSIVE")
            yield
            sql.execute("ROLLBACK")

    with closing(Archive(f"sqlite:///{file}", deliver_to_conversation)) as archive:
        archive.prepare()
        with Arena(tmp_path) as arena:
            survives(arena.with_workers(2), archive, held, away_s=away_s)


def test_full_disk_leaves_a_session_unarchived(client: Redis, tmp_path: Path) -> None:
    table = Table(client, opened=False)
    SessionIndex(client).add_session(table.id, look_in_ms=0, archive_in_ms=0)
    table.open(archived=True)
    with closing(Archive(f"sqlite:///{tmp_path / 'archive.sqlite3'}", deliver_to_conversation)) as archive:
        table.speak(table.plan_one(), "it fits")
        archive_now(archive_ready(archive), table)
        before = archived(archive, table.id)
        table.speak(table.plan_one(), *["x" * 20_000] * 50)
        table.finish()
        with full(archive), pytest.raises(ArchiveUnavailable, match="full"):
            archiver(archive, client).archive_due()
        assert archived(archive, table.id) == before
        assert client.ttl(table.key("session")) == -1
        assert client.zscore(ARCHIVE_QUEUE, table.id) is not None

        assert archiver(archive, client).archive_due() == 1
        assert archived(archive, table.id) == live(client, table.id)
        assert client.ttl(table.key("session")) > 0


def archive_ready(archive: Archive) -> Archive:
    archive.prepare()
    return archive


@contextmanager
def full(archive: Archive) -> Iterator[None]:
    """No page can be added to the file."""
    engine = archive.database._engine

    def limit(connection: sqlite3.Connection, _record: object) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")

    engine.dispose()
    event.listen(engine, "connect", limit)
    try:
        yield
    finally:
        event.remove(engine, "connect", limit)
        engine.dispose()
