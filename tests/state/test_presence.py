"""Which workers are there: announced, silent, gone."""

import json

from symposia.state import presence as workers_module
from symposia.state.presence import WorkerPresence
from symposia.state.redis.keys import WORKERS


def silent_for(client, name, ms):
    entry = json.loads(client.hget(WORKERS, name))
    client.hset(WORKERS, name, json.dumps({**entry, "at": entry["at"] - ms}))


def test_worker_announces_the_agents_it_knows(client):
    book = WorkerPresence(client)
    book.announce("w2", ["b", "a"])
    book.announce("w1", [])
    first, second = book.list_alive()
    assert (first.name, first.agents, second.name, second.agents) == ("w1", set(), "w2", {"a", "b"})
    assert 0 <= second.age_ms < 5_000


def test_silent_worker_is_not_alive(client):
    book = WorkerPresence(client)
    book.announce("w", ["a"])
    silent_for(client, "w", workers_module.SILENT_MS + 1_000)
    assert book.list_alive() == []
    book.announce("w", ["a", "b"])
    assert [worker.agents for worker in book.list_alive()] == [{"a", "b"}]


def test_silent_workers_are_removed_by_the_next_writer(client):
    book = WorkerPresence(client)
    book.announce("gone", [])
    silent_for(client, "gone", 10 * workers_module.SILENT_MS + 1_000)
    book.announce("here", [])
    assert client.hkeys(WORKERS) == ["here"]


def test_a_worker_that_leaves_is_gone_at_once(client):
    book = WorkerPresence(client)
    book.announce("w", [])
    book.leave("w")
    book.leave("never was there")
    assert book.list_alive() == []


def test_worker_may_report_its_idle_time(client):
    book = WorkerPresence(client)
    book.announce("old", [])
    book.announce("w", [], idle_ms=7)
    assert [(worker.name, worker.idle_ms) for worker in book.list_alive()] == [("old", None), ("w", 7)]


def test_programs_of_all_workers_are_known(client):
    book = WorkerPresence(client)
    book.announce("w1", ["lint"], programs={"lint": "v2"})
    assert book.program_identities() == {"lint": "v2"}
    book.announce("w2", ["lint"], programs={"lint": "v1"})
    assert book.program_identities() == {"lint": "v1 v2"}


def test_live_workers_are_read_again_after_a_second(client, monkeypatch):
    now_s = 100.0
    monkeypatch.setattr(workers_module.time, "monotonic", lambda: now_s)
    book = WorkerPresence(client)
    assert book.list_recent().workers == []
    book.announce("w", ["a"])
    first = book.list_recent()
    assert (first.agents, first.is_fresh) == ({"a"}, True), "that none is alive is not kept"
    book.announce("w", ["a", "b"])
    assert (book.list_recent().agents, book.list_recent().is_fresh) == ({"a"}, False)
    now_s += workers_module.CACHE_S
    assert (book.list_recent().agents, book.list_recent().is_fresh) == ({"a", "b"}, False)
