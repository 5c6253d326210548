"""The finished calls of a turn: kept for the next attempt, bounded, and gone when they are no longer needed."""

from __future__ import annotations

import asyncio

import pytest

from symposia.state.redis.connect import connect
from symposia.state.redis.keys import calls_key
from symposia.state.turns import journal as journal_module
from symposia.state.turns.journal import KEPT_MS, MAX_BYTES, CallJournal

ID = "0b5d7f0e-6c1c-4c58-9d4b-0a4f1f4f8c11"


@pytest.fixture
def client(redis_url):
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def begin(client):
    return lambda *, before=True: CallJournal(client, ID, 3, begun_before=before)


def test_next_attempt_finds_finished_calls(begin):
    first = begin(before=False)
    asyncio.run(first.store_answers({"model:a": "an answer"}))
    assert (first.get_answer("model:a"), begin().get_answer("model:a")) == ("an answer", "an answer")
    assert begin().get_answer("model:b") is None


def test_call_journal_expires(begin, client):
    asyncio.run(begin().store_answers({"model:a": "an answer"}))
    assert 0 < client.pttl(calls_key(ID, 3)) <= KEPT_MS


def test_removed_calls_are_removed_for_all_attempts(begin):
    journal = begin()
    for call in ("model:a", "model:b", "tool:a"):
        asyncio.run(journal.store_answers({call: call}))
    asyncio.run(journal.delete_answers("model:"))
    assert [begin().get_answer(call) for call in ("model:a", "model:b", "tool:a")] == [None, None, "tool:a"]


def test_written_turn_leaves_no_calls(begin, client):
    asyncio.run(begin().store_answers({"model:a": "an answer"}))
    begin().close()
    assert not client.exists(calls_key(ID, 3))


def test_a_first_attempt_reads_nothing(begin, client):
    before = client.info("commandstats").get("cmdstat_hgetall", {"calls": 0})["calls"]
    begin(before=False).close()
    assert client.info("commandstats").get("cmdstat_hgetall", {"calls": 0})["calls"] == before


def test_calls_over_the_cap_are_not_kept(begin, monkeypatch):
    monkeypatch.setattr(journal_module, "MAX_CALLS", 2)
    journal = begin()
    asyncio.run(journal.store_answers({"huge": "x" * (MAX_BYTES + 1)}))
    for call in ("a", "b", "c"):
        asyncio.run(journal.store_answers({call: call}))
    assert [journal.get_answer(call) for call in ("huge", "a", "b", "c")] == [None, "a", "b", None]


def test_turn_continues_without_a_journal():
    with connect("redis://127.0.0.1:9/0", retries=0) as nobody:
        journal = CallJournal(nobody, ID, 3, begun_before=False)
        asyncio.run(journal.store_answers({"model:a": "an answer"}))
        journal.close()
    assert journal.get_answer("model:a") == "an answer"


def test_invalid_unicode_is_not_kept(begin):
    journal = begin()
    asyncio.run(journal.store_answers({"tool:a": '"\udcff"', "tool:b": "fine"}))
    assert [begin().get_answer(call) for call in ("tool:a", "tool:b")] == [None, "fine"]
