"""`attachments/add`: bytes are stored once, within the limits of a session, and expire with it."""

from __future__ import annotations

import pytest

from sessions.table import RETENTION_MS, Table
from symposia.models.attachments import MAX_PER_SESSION, Attachment
from symposia.models.text.ids import new_id
from symposia.state.redis.keys import attachments_key
from symposia.state.sessions.attachments import AttachmentStore

FILE = Attachment.of("a.bin", bytes(range(256)))


@pytest.fixture
def store(table: Table) -> AttachmentStore:
    return AttachmentStore(table.client)


def test_bytes_are_stored_once(table, store):
    assert [store.add(table.id, FILE) for _ in range(2)] == ["added", "added"]
    assert store.read(table.id, FILE.sha256) == FILE.data
    assert store.digests(table.id) == [FILE.sha256]
    assert table.client.hget(attachments_key(table.id), "bytes") == "256"
    assert table.client.hget(table.key("session"), "attachments") == "1"


def test_unknown_bytes_are_none(table, store):
    assert store.read(table.id, FILE.sha256) is None
    assert store.size(table.id, FILE.sha256) == 0
    assert store.digests(table.id) == []


def test_number_is_limited(table, store):
    words = [store.add(table.id, Attachment.of("a", f"{number}")) for number in range(MAX_PER_SESSION + 1)]
    assert words == ["added"] * MAX_PER_SESSION + ["full"]
    assert store.add(table.id, Attachment.of("b", "0")) == "added"  # these bytes are there
    assert len(store.digests(table.id)) == MAX_PER_SESSION


def test_bytes_together_are_limited(table, store, monkeypatch):
    monkeypatch.setattr("symposia.state.sessions.attachments.MAX_BYTES", 256)
    assert store.add(table.id, FILE) == "added"
    assert store.add(table.id, Attachment.of("b", "x")) == "full"
    assert store.digests(table.id) == [FILE.sha256]


def test_bytes_expire_with_the_session(table, store):
    store.add(table.id, FILE)
    assert table.client.pttl(attachments_key(table.id)) == -1
    table.store.cancel(table.id, reason="cancelled", retention_ms=RETENTION_MS)
    assert 0 < table.client.pttl(attachments_key(table.id)) <= RETENTION_MS
    assert store.add(table.id, Attachment.of("b", "x")) == "ended"


def test_bytes_before_the_opening_wait_an_hour(client):
    table = Table(client, opened=False)
    store = AttachmentStore(client)
    assert store.add(table.id, FILE) == "missing"
    assert store.add(table.id, FILE, is_early=True) == "added"
    assert 0 < client.pttl(attachments_key(table.id)) <= 3_600_000
    table.open()
    assert client.pttl(attachments_key(table.id)) == -1
    assert client.hget(table.key("session"), "attachments") == "1"


def test_open_session_gets_no_early_bytes(table, store):
    assert store.add(table.id, FILE, is_early=True) == "exists"
    assert store.digests(table.id) == []


def test_sessions_do_not_share_bytes(table, store):
    store.add(table.id, FILE)
    assert store.read(new_id(), FILE.sha256) is None
