"""Publishing deltas: only for readers, in few writes, within bounds, and harmless without Redis."""

from __future__ import annotations

from dataclasses import replace

import pytest

from live import until
from symposia.models.turns.streaming import Delta, Drafts
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key
from symposia.state.redis.readers import read_entries
from symposia.state.sessions.records import Grant
from symposia.state.turns import deltas as deltas_module
from symposia.state.turns.deltas import (
    KEPT_MS,
    LISTENING_MS,
    DeltaPublisher,
    DeltaWriter,
    ListenerRegistration,
)

ID = "0b5d7f0e-6c1c-4c58-9d4b-0a4f1f4f8c11"
KEY = session_key(ID, "deltas")
GRANT = Grant(
    number=3, scope="floor", token="t", fence=7, grants=2, failures=0, takeovers=0, substitute=None, messages=()
)  # fmt: skip


@pytest.fixture
def client(redis_url):
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def writer(client):
    return DeltaPublisher(client).writer(ID, replace(GRANT, has_reader=True), "ann")


def published(client):
    return [Delta.model_validate_json(text) for _, text in read_entries(client.xrange(KEY))]


def text_of(client):
    drafts = Drafts()
    for delta in published(client):
        drafts.add(delta)
    return "".join(draft.text for draft in drafts)


def test_nothing_is_written_without_readers(client):
    assert DeltaPublisher(client).writer(ID, GRANT, "ann") is None


def test_reader_counts_as_present_for_a_while(client):
    ListenerRegistration(client, ID).refresh()
    assert 0 < client.pttl(session_key(ID, "listening")) <= LISTENING_MS


def test_reader_does_not_register_on_every_refresh(client):
    presence = ListenerRegistration(client, ID)
    presence.refresh()
    client.delete(session_key(ID, "listening"))
    presence.refresh()
    assert not client.exists(session_key(ID, "listening"))


def test_deltas_are_batched_with_their_offset(client, writer):
    for number in range(1_000):
        writer.add_output(f"{number} ")
    expected = "".join(f"{number} " for number in range(1_000))
    until(lambda: text_of(client) == expected, what="all words are published")
    pieces = published(client)
    assert len(pieces) < 100
    assert {(it.turn_number, it.participant_id, it.attempt, it.token_id) for it in pieces} == {
        (3, "ann", 2, "t")
    }
    assert 0 < client.pttl(KEY) <= KEPT_MS


def test_restarted_output_begins_at_offset_zero(client, writer):
    writer.add_output("lost")
    until(lambda: text_of(client) == "lost", what="the first words are published")
    writer.restart_output()
    writer.add_output("found")
    until(lambda: text_of(client) == "found", what="the new words are published")
    assert published(client)[-1].offset == 0


def test_unpublished_text_is_dropped_on_restart(client):
    class Unheard(DeltaPublisher):
        def mark_pending(self, writer):
            """No thread takes the words before the test does."""

    writer = DeltaWriter(Unheard(client), ID, GRANT, "ann")
    writer.add_output("lost")
    writer.restart_output()
    writer.add_output("found")
    assert writer.take().text == "found"
    assert writer.take() is None


def test_stream_and_turn_are_bounded(client, writer, monkeypatch):
    monkeypatch.setattr(deltas_module, "MAX_CHARACTERS", 10)
    monkeypatch.setattr(deltas_module, "MAX_PIECES", 2)
    for word in ("12345", "67890", "and no more"):
        writer.add_output(word)
        until(lambda: not writer._pending, what="the words are sent")
    until(lambda: text_of(client) == "1234567890", what="as much as is published is published")


def test_deltas_without_redis_are_dropped():
    with connect("redis://127.0.0.1:9/0", retries=0) as nobody:
        publisher = DeltaPublisher(nobody)
        writer = DeltaWriter(publisher, ID, GRANT, "ann")
        writer.add_output("lost")
        until(lambda: not writer._pending, what="the words are given up")
        writer.add_output("still alive")
        until(lambda: not writer._pending, what="the thread goes on")
