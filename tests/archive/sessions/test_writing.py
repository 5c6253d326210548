"""Archiving a session: everything, once, with any number of archivers."""

from __future__ import annotations

import pytest
from redis import Redis

from sessions.archiving import NOTHING, STREAMS, archive_now, archived, archiver, live
from sessions.table import Table
from symposia.archive.archive import Archive
from symposia.models.sessions.archived import ArchivePage, ArchiveProgress
from symposia.state.redis.keys import ARCHIVE_QUEUE
from symposia.state.redis.readers import Stream
from symposia.state.sessions.archiving import SnapshotReader
from symposia.state.sessions.index import SessionIndex

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


def first_page(table: Table) -> ArchivePage:
    """The page of a session of which nothing is archived."""
    page = SnapshotReader(table.client).read_page(table.id, NOTHING).page
    assert page is not None
    return page


def test_the_archive_has_every_message_and_event(table: Table, archive: Archive) -> None:
    table.speak(table.plan_one(), "hello", "and more")
    archive_now(archive, table)
    assert archived(archive, table.id) == live(table.client, table.id)


def test_archiving_resumes_where_it_stopped(table: Table, archive: Archive) -> None:
    for text in ("one", "two", "three"):
        table.speak(table.plan_one(), text)
        archive_now(archive, table)
        archive_now(archive, table)
    assert archived(archive, table.id) == live(table.client, table.id)


@pytest.mark.parametrize("text", ODD)
def test_any_text_is_read_back_unchanged(table: Table, archive: Archive, text: str) -> None:
    table.speak(table.plan_one(), text)
    archive_now(archive, table)
    assert [message["content"] for _, message in archived(archive, table.id)["dialog"]] == [text]


def test_second_archiver_writes_no_duplicates(table: Table, archive: Archive) -> None:
    table.speak(table.plan_one(), "hello")
    reader, page = SnapshotReader(table.client), first_page(table)
    table.speak(table.plan_one(), "again")
    archive_now(archive, table)

    def read_on(since: ArchiveProgress) -> ArchivePage:
        found = reader.read_page(table.id, ArchiveProgress(since.opened_ms, 0, since.marks)).page
        assert found is not None
        return found

    archive.writer.write(page, read_on)
    assert archived(archive, table.id) == live(table.client, table.id)


def test_entry_larger_than_a_page_is_written(table: Table, archive: Archive) -> None:
    for _ in range(12):
        table.speak(table.plan_one(), *["x" * 20_000] * 40)
    assert first_page(table).snapshot is None
    archive_now(archive, table)
    assert archived(archive, table.id) == live(table.client, table.id)


def test_two_sessions_with_one_id_are_both_kept(table: Table, archive: Archive) -> None:
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


def test_live_keys_expire_only_after_archiving(table: Table, archive: Archive) -> None:
    SessionIndex(table.client).add_session(table.id, look_in_ms=0, archive_in_ms=0)
    table.speak(table.plan_one(), "hello")
    table.finish()
    assert table.client.ttl(table.key("session")) == -1
    assert archiver(archive, table.client).archive_due() == 1
    for part in ("session", "dialog", "events", "journal"):
        assert 0 < table.client.ttl(table.key(part)) <= 60
    assert archived(archive, table.id) == live(table.client, table.id)
    assert table.client.zscore(ARCHIVE_QUEUE, table.id) is not None, "it is looked at once more"


@pytest.mark.parametrize("stream", STREAMS)
def test_missing_archive_entry_keeps_the_live_keys(table: Table, stream: Stream) -> None:
    table.speak(table.plan_one(), "one")
    table.speak(table.plan_one(), "two")
    table.finish()
    reader, page = SnapshotReader(table.client), first_page(table)
    entries = getattr(page, stream)
    lacking = page.until._replace(**{stream: entries[-2][0]})
    assert (
        reader.expire_if_archived(table.id, ArchiveProgress(page.opened_ms, 0, lacking), retention_ms=60_000)
        is None
    )
    assert table.client.ttl(table.key("session")) == -1
    assert reader.expire_if_archived(
        table.id, ArchiveProgress(page.opened_ms, 0, page.until), retention_ms=60_000
    )
    assert table.client.ttl(table.key("session")) > 0


def test_archived_session_keeps_its_first_expiry(table: Table) -> None:
    table.finish()
    reader, page = SnapshotReader(table.client), first_page(table)
    progress = ArchiveProgress(page.opened_ms, 0, page.until)
    for retention_ms in (60_000, 3_600_000):
        assert reader.expire_if_archived(table.id, progress, retention_ms=retention_ms)
        assert 0 < table.client.ttl(table.key("session")) <= 60


def test_page_has_all_entries_that_fit(table: Table) -> None:
    table.speak(table.plan_one(), *(str(number) for number in range(70)))
    page = first_page(table)
    assert (len(page.dialog), page.snapshot is not None) == (70, True)


def test_page_has_entries_since_the_last_one(table: Table) -> None:
    grant = table.expire_grant(table.plan_one())
    reader, page = SnapshotReader(table.client), first_page(table)
    assert page.snapshot is not None
    assert {"collab", "spec"}.isdisjoint(page.snapshot.fields), "they are documents of their own"
    seen = ArchiveProgress(page.opened_ms, int(page.snapshot.fields["updated_ms"]), page.until)
    assert reader.read_page(table.id, seen).word == "unchanged"
    assert reader.read_page(table.id, seen._replace(updated_ms=1)).word == "page"
    table.commit(grant, "refused, which changes no field")
    found = reader.read_page(table.id, seen)
    assert found.page is not None
    assert len(found.page.events) == 2


def test_reused_session_id_is_not_expired(table: Table) -> None:
    table.finish()
    reader, page = SnapshotReader(table.client), first_page(table)
    before = ArchiveProgress(page.opened_ms - 1, 0, page.until)
    assert reader.expire_if_archived(table.id, before, retention_ms=60_000) is None
    assert table.client.ttl(table.key("session")) == -1


def test_reused_session_id_is_read_from_its_start(table: Table) -> None:
    """Its entries may come before the marks if the server's clock was set back."""
    table.finish()
    reader, whole = SnapshotReader(table.client), first_page(table)
    later = reader.read_page(table.id, ArchiveProgress(whole.opened_ms - 1, 0, whole.until)).page
    assert later is not None
    assert (later.events, later.journal) == (whole.events, whole.journal)


def test_session_without_an_archive_expires(client: Redis) -> None:
    table = Table(client)
    table.finish()
    assert 0 < client.ttl(table.key("session")) <= 60
