"""Records of turns in Redis: stored once, bounded, expiring, and removed when the archive has them."""

from __future__ import annotations

import pytest

from symposia.state.redis.connect import connect
from symposia.state.redis.keys import recorded_key
from symposia.state.sessions.archiving import RecordingStore

ID = "0b5d7f0e-6c1c-4c58-9d4b-0a4f1f4f8c11"
KEEP_MS = 60_000


@pytest.fixture
def client(redis_url):
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def store(client):
    return RecordingStore(client)


def test_record_is_found_by_its_token(store):
    assert store.add(ID, "a", "first", keep_ms=KEEP_MS)
    assert store.add(ID, "b", "second", keep_ms=KEEP_MS)
    assert store.read_all(ID) == {"a": "first", "b": "second"}


def test_repeated_record_changes_nothing(store, client):
    for _ in range(2):
        assert store.add(ID, "a", "first", keep_ms=KEEP_MS)
    assert client.hgetall(recorded_key(ID)) == {"a": "first", "bytes": "5"}


def test_records_are_bounded_together(store):
    assert store.add(ID, "a", "x" * 60, keep_ms=KEEP_MS, most_bytes=100)
    assert not store.add(ID, "b", "x" * 41, keep_ms=KEEP_MS, most_bytes=100)
    assert store.add(ID, "b", "x" * 40, keep_ms=KEEP_MS, most_bytes=100)
    assert not store.add(ID, "c", "x", keep_ms=KEEP_MS, most_bytes=100)


def test_removed_records_leave_room(store):
    assert store.add(ID, "a", "x" * 60, keep_ms=KEEP_MS, most_bytes=100)
    assert store.add(ID, "b", "x" * 40, keep_ms=KEEP_MS, most_bytes=100)
    for _ in range(2):
        store.remove(ID, ["a"])
    assert store.add(ID, "c", "x" * 60, keep_ms=KEEP_MS, most_bytes=100)
    assert not store.add(ID, "d", "x", keep_ms=KEEP_MS, most_bytes=100)


def test_last_removed_record_leaves_no_key(store, client):
    store.add(ID, "a", "first", keep_ms=KEEP_MS)
    store.remove(ID, ["a", "b"])
    assert client.exists(recorded_key(ID)) == 0


def test_each_record_extends_the_time_to_live(store, client):
    store.add(ID, "a", "first", keep_ms=1_000)
    assert 0 < client.pttl(recorded_key(ID)) <= 1_000
    store.add(ID, "b", "second", keep_ms=KEEP_MS)
    assert 1_000 < client.pttl(recorded_key(ID)) <= KEEP_MS
