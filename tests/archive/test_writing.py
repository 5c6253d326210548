"""What is archived of a session: everything, once, whoever archives, however often."""

from __future__ import annotations

import pytest
from redis import Redis

from archiving import NOTHING, STREAMS, archive_now, archived, archiver, live
from symposia.archive.archive import Archive
from symposia.models.archived import Page, Progress
from symposia.state.index import SessionIndex
from symposia.state.keys import OWED
from symposia.state.owed import SnapshotReader
from symposia.state.streams import Stream
from table import Table

#: What people, models and attackers say.
ODD = (
    "naïve 日本語 🎭",
    "a NUL \x00 in it",
    r"no NUL: \u0000",
    'quote " and \\ back',
    "'; DROP TABLE message; --",
    " ",
)

pytestmark = pytest.mark.leaves_keys


def test_the_archive_has_every_message_and_event(table: Table, archive: Archive) -> None:
    table.speak(table.plan_one(), "hello", "and more")
    archive_now(archive, table)
    assert archived(archive, table.id) == live(table.client, table.id)


def test_it_goes_on_where_it_stopped(table: Table, archive: Archive) -> None:
    for text in ("one", "two", "three"):
        table.speak(table.plan_one(), text)
        archive_now(archive, table)
        archive_now(archive, table)
    assert archived(archive, table.id) == live(table.client, table.id)


@pytest.mark.parametrize("text", ODD)
def test_whatever_is_said_is_read_as_it_was_said(table: Table, archive: Archive, text: str) -> None:
    table.speak(table.plan_one(), text)
    archive_now(archive, table)
    assert [message["content"] for _, message in archived(archive, table.id)["dialog"]] == [text]


def test_an_archiver_that_comes_second_writes_nothing_again(table: Table, archive: Archive) -> None:
    table.speak(table.plan_one(), "hello")
    reader = SnapshotReader(table.client)
    page = reader.look(table.id, NOTHING).page
    assert page is not None
    table.speak(table.plan_one(), "again")
    archive_now(archive, table)

    def read_on(since: Progress) -> Page:
        found = reader.look(table.id, Progress(since.opened_ms, 0, since.marks)).page
        assert found is not None
        return found

    archive.writer.write(page, read_on)
    assert archived(archive, table.id) == live(table.client, table.id)


def test_what_does_not_fit_into_a_page_is_written_all_the_same(table: Table, archive: Archive) -> None:
    for _ in range(12):
        table.speak(table.plan_one(), *["x" * 20_000] * 40)
    assert SnapshotReader(table.client).look(table.id, NOTHING).page.snapshot is None
    archive_now(archive, table)
    assert archived(archive, table.id) == live(table.client, table.id)


def test_two_sessions_that_had_the_same_id_are_both_kept(table: Table, archive: Archive) -> None:
    table.speak(table.plan_one(), "the first")
    archive_now(archive, table)
    first = archive.reader.session(table.id)
    table.client.delete(*[table.key(part) for part in ("session", "dialog", "events", "journal", "turns")])
    table.open(archived=True)
    table.speak(table.plan_one(), "the second")
    archive_now(archive, table)
    assert archived(archive, table.id) == live(table.client, table.id)
    listed = archive.reader.page().items
    assert len(listed) == 2
    assert first in listed


def test_live_keys_expire_only_once_the_archive_has_them(table: Table, archive: Archive) -> None:
    SessionIndex(table.client).add(table.id, look_in_ms=0, archived=True)
    table.speak(table.plan_one(), "hello")
    table.finish()
    assert table.client.ttl(table.key("session")) == -1
    assert archiver(archive, table.client).round() == 1
    for part in ("session", "dialog", "events", "journal"):
        assert 0 < table.client.ttl(table.key(part)) <= 60
    assert archived(archive, table.id) == live(table.client, table.id)
    assert table.client.zscore(OWED, table.id) is not None, "it is looked at once more"


@pytest.mark.parametrize("stream", STREAMS)
def test_one_entry_the_archive_lacks_keeps_the_live_keys(table: Table, stream: Stream) -> None:
    table.speak(table.plan_one(), "one")
    table.speak(table.plan_one(), "two")
    table.finish()
    reader = SnapshotReader(table.client)
    page = reader.look(table.id, NOTHING).page
    assert page is not None
    entries = getattr(page, stream)
    lacking = page.until._replace(**{stream: entries[-2][0]})
    assert reader.release(table.id, Progress(page.opened_ms, 0, lacking), retention_ms=60_000) is None
    assert table.client.ttl(table.key("session")) == -1
    assert reader.release(table.id, Progress(page.opened_ms, 0, page.until), retention_ms=60_000)
    assert table.client.ttl(table.key("session")) > 0


def test_a_session_opened_without_an_archive_expires_by_itself(client: Redis) -> None:
    table = Table(client)
    table.finish()
    assert 0 < client.ttl(table.key("session")) <= 60
