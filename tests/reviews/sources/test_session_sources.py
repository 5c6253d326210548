"""Archived sessions are items: their transcripts, under an identity that stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from sqlalchemy import update

from sessions.archiving import archive_now
from sessions.table import Table
from symposia.archive.archive import Archive
from symposia.archive.results import SessionFilter
from symposia.archive.tables import MESSAGE
from symposia.models.protocol.base import Meta
from symposia.models.text.ids import new_id
from symposia.reviews.sources.archived_sessions import REVIEW_TAG, SessionSource
from symposia.reviews.sources.source import SourceLimits
from symposia.reviews.values.runs import ItemKind, ReadItem, SkippedItem
from symposia.state.redis.connect import connect
from symposia.workspace.sql.store import deliver_to_conversation

pytestmark = pytest.mark.leaves_keys


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    archive = Archive(f"sqlite:///{tmp_path / 'archive.sqlite3'}", deliver_to_conversation)
    archive.prepare()
    yield archive
    archive.close()


def archived(client: Redis, archive: Archive, *texts: str, ended: bool = True, tag: str = "a tag") -> str:
    """A session in which this was said; gives back its id."""
    table = Table(client, opened=False)
    table.collab = table.collab.changed(meta=Meta(tags=[tag]))
    table.open(archived=True)
    for text in texts:
        table.speak(table.plan_one(), text)
    if ended:
        table.finish()
    archive_now(archive, table)
    return table.id


def keys(source: SessionSource) -> list[str]:
    return [it.item.key if isinstance(it, ReadItem) else it.path for it in source]


def test_session_item_has_all_messages(client, archive):
    one = archived(client, archive, "first\nline two", "second")
    (read,) = SessionSource(archive.reader)
    assert (read.item.key, read.item.path, read.item.kind) == (f"session:{one}",) * 2 + (ItemKind.SESSION,)
    assert read.text == (
        "# A table\n\n- Mode: round_robin\n- Participants: ann, bob, cyd\n- Ended: completed, satisfied\n\n"
        "see who may speak\n\n## 1. ann, turn 1\n\nfirst\nline two\n\n## 2. ann, turn 2\n\nsecond\n"
    )
    assert read.item.size == len(read.text.encode())
    assert list(SessionSource(archive.reader)) == [read]


def test_newest_matching_ended_sessions_come_first(client, archive):
    made = [archived(client, archive, str(at)) for at in range(3)]
    archived(client, archive, "goes on", ended=False)
    other = archived(client, archive, "x", tag="other")
    newest_first = [f"session:{it}" for it in [other, *reversed(made)]]
    assert keys(SessionSource(archive.reader)) == newest_first
    assert keys(SessionSource(archive.reader, wanted=SessionFilter(tag="other"))) == newest_first[:1]
    assert keys(SessionSource(archive.reader, caps=SourceLimits(items=2))) == [*newest_first[:2], "session:*"]


def test_sessions_of_reviews_are_reviewed_by_name_only(client, archive):
    review = archived(client, archive, "a finding", tag=REVIEW_TAG)
    assert keys(SessionSource(archive.reader)) == []
    assert keys(SessionSource(archive.reader, ids=[review])) == [f"session:{review}"]


def test_named_sessions_keep_their_order(client, archive):
    one, two = archived(client, archive, "1"), archived(client, archive, "2", ended=False)
    gone = new_id()
    found = list(SessionSource(archive.reader, ids=[two, gone, one, two]))
    assert [it.path if isinstance(it, SkippedItem) else it.item.key for it in found] == [
        f"session:{it}" for it in (two, gone, one)
    ]
    assert found[1] == SkippedItem(path=f"session:{gone}", reason="not in the archive")


def test_sessions_need_an_archive():
    assert list(SessionSource(None)) == []
    assert list(SessionSource(None, ids=["x\n"])) == [
        SkippedItem(path=r"session:x\n", reason="not in the archive")
    ]


def test_too_long_or_corrupt_session_is_reported(client, archive):
    long = archived(client, archive, "x" * 1_000)
    found = list(SessionSource(archive.reader, caps=SourceLimits(item_bytes=1_000)))
    assert found == [SkippedItem(path=f"session:{long}", reason="larger than 1,000 bytes")]
    with archive.database.writing() as connection:
        connection.execute(update(MESSAGE).values(rest='{"role": "nobody"}'))
    (skipped,) = SessionSource(archive.reader)
    assert "dialog of session" in skipped.reason
