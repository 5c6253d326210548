"""Sessions that are archived together: everything of each, once, with killed, failing and concurrent archivers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from scaling import scaled_examples
from sessions.archiving import NOTHING, archive_now, archived, archiver, killed_at, live
from sessions.table import Table
from symposia.archive.archive import Archive
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import ARCHIVE_QUEUE, session_key
from symposia.state.sessions.archiving import SnapshotReader
from symposia.state.sessions.index import SessionIndex
from symposia.workspace.sql.store import deliver_to_conversation

pytestmark = [pytest.mark.leaves_keys, pytest.mark.timeout(240)]

#: More statements than archiving the sessions takes, so that some archivers live.
STATEMENTS = 40


def open_sessions(client: Redis, count: int) -> list[Table]:
    """Return sessions that are due to be archived."""
    tables = [Table(client, opened=False) for _ in range(count)]
    for number, table in enumerate(tables):
        SessionIndex(client).add_session(table.id, look_in_ms=0, archive_in_ms=0)
        table.open(archived=True)
        table.speak(table.plan_one(), f"hello from {number}")
    return tables


def make_due(client: Redis, tables: list[Table]) -> None:
    client.zadd(ARCHIVE_QUEUE, {table.id: 0 for table in tables})


def assert_archived(archive: Archive, tables: list[Table]) -> None:
    for table in tables:
        assert archived(archive, table.id) == live(table.client, table.id)


def test_new_known_and_ended_sessions_are_written_together(client: Redis, archive: Archive) -> None:
    tables = open_sessions(client, 4)
    archive_now(archive, tables[0])
    tables[0].speak(tables[0].plan_one(), "and more")
    tables[1].finish()
    assert archiver(archive, client).archive_due() == 4
    assert_archived(archive, tables)
    kept = [client.ttl(session_key(table.id, "session")) > 0 for table in tables]
    assert kept == [False, True, False, False]
    make_due(client, tables)
    assert archiver(archive, client).archive_due() == 0
    assert_archived(archive, tables)


def test_session_that_cannot_be_archived_does_not_block_the_others(client: Redis, archive: Archive) -> None:
    tables = open_sessions(client, 3)
    broken = tables[1]
    client.xadd(session_key(broken.id, "dialog"), {"message": "no message"})
    assert archiver(archive, client).archive_due() == 2
    assert_archived(archive, [tables[0], tables[2]])
    assert archive.writer.progress([broken.id]) == {}


def test_session_that_another_archiver_wrote_meanwhile_is_written_once(
    client: Redis, archive: Archive
) -> None:
    tables = open_sessions(client, 2)
    pages = [SnapshotReader(client).read_page(table.id, NOTHING).page for table in tables]
    archive_now(archive, tables[1])
    assert not archive.writer.write_all([it for it in pages if it is not None])
    assert archive.writer.progress([tables[0].id]) == {}
    make_due(client, tables)
    archiver(archive, client).archive_due()
    assert_archived(archive, tables)


def test_concurrent_archivers_write_each_session_once(
    redis_url: str, client: Redis, archive: Archive
) -> None:
    tables = open_sessions(client, 5)
    for turn in range(3):
        for table in tables:
            table.speak(table.plan_one(), f"turn {turn}")

        def archive_all(_: int) -> None:
            with connect(redis_url) as own:
                known = archive.writer.progress([table.id for table in tables])
                reader = SnapshotReader(own)
                looks = [reader.read_page(it.id, known.get(it.id, NOTHING)).page for it in tables]
                archive.writer.write_all([it for it in looks if it is not None])

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(archive_all, range(4)))
        assert_archived(archive, tables)


@settings(max_examples=scaled_examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.integers(1, STATEMENTS), min_size=1, max_size=5), ends=st.booleans())
def test_killed_archiver_loses_nothing(redis_url: str, tmp_path: Path, steps: list[int], ends: bool) -> None:
    archive = Archive(f"sqlite:///{tmp_path / 'archive.sqlite3'}", deliver_to_conversation)
    archive.prepare()
    with connect(redis_url) as client:
        tables = open_sessions(client, 3)
        for step in steps:
            make_due(client, tables)
            with connect(redis_url) as mortal, killed_at(step, archive, mortal):
                archiver(archive, mortal).archive_due()
            for table in tables:
                table.speak(table.plan_one(), f"after {step}")
        if ends:
            for table in tables:
                table.finish()
        make_due(client, tables)
        archiver(archive, client).archive_due()
        assert_archived(archive, tables)
        assert all((client.ttl(session_key(it.id, "session")) > 0) == ends for it in tables)
    archive.close()
