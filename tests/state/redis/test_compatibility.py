"""The life of a session on every kind of server: the embedded Valkey, Redis, a cluster."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checks import ledger
from sessions.table import Table, turn, until
from symposia.client.embedded import EmbeddedServer
from symposia.models.sessions.plan import BoardEntry, Step
from symposia.models.turns.items import WorkItem
from symposia.models.turns.turn import Usage
from symposia.state.following import follow
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import SESSIONS
from symposia.state.redis.readers import StreamReader
from symposia.state.sessions.index import SessionIndex

INSTALL = "redis-server is not installed: `apt-get install redis-server`, or `make debian-packages`"


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip(INSTALL)
    folder = tmp_path_factory.mktemp("redis")
    with EmbeddedServer(folder, durable=False, bound=True, program=Path(program)) as server:
        yield server.url


@pytest.fixture(params=["valkey", "redis", pytest.param("cluster", marks=pytest.mark.long)])
def anywhere(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A client of an empty server of each kind."""
    if request.param == "cluster":
        client: Any = connect(request.getfixturevalue("cluster").url)
    elif request.param == "redis":
        client = connect(request.getfixturevalue("redis_server"))
    else:
        client = connect(request.getfixturevalue("redis_url"))
    with client:
        client.flushall()
        yield client
        for session_id in ledger.session_ids(client):
            ledger.check(client, session_id)
            assert all(client.pttl(key) > 0 for key in client.scan_iter(f"symposia:{{{session_id}}}:*"))


def test_session_is_opened_and_ends(anywhere):
    table = Table(anywhere)
    board = (BoardEntry(item=WorkItem(item_id="i", text="do it"), status="open"),)
    one, two, three = table.plan(
        turn("ann", "a"), turn("bob", "b", snapshot=True), turn("cyd", "c"), board=board, announce="Go"
    )
    grant = table.grant(one, scope="a")
    assert table.renew(grant)
    assert table.begin(one, scope="a").word == "busy"
    assert table.commit(grant, "hello", usage=Usage(output_tokens=2)).word == "committed"
    assert table.commit(grant, "hello").word == "done"

    late = table.expire_grant(two, scope="b")
    table.fail(table.grant(two, scope="b"))
    held = table.grant(two, scope="b")
    assert table.commit(late, "stale").word == "stale"
    table.suspend()
    assert table.commit(held, "held").word == "held"
    assert table.resume().closed == 2

    assert table.sweep(grace_ms=0).numbers == (three,)
    last = table.grant(three, scope="c")
    ahead = table.write(Step(turns=(turn("ann"),)), after=three)
    assert table.commit(last, "bye", then=ahead).numbers == (4,)
    assert table.store.request_stop(table.id).stop_requested
    table.grant(4)
    assert table.cancel().usage == Usage(output_tokens=2)
    assert table.texts() == ["hello", "held", "bye"]
    assert table.sweep().word == "ended"


def test_forgotten_script_is_loaded_again(anywhere):
    table = Table(anywhere)
    anywhere.script_flush()
    assert table.speak(table.plan_one(), "hello").word == "committed"
    table.cancel()


def test_streams_are_read_and_followed(anywhere):
    table = Table(anywhere)
    table.speak(table.plan_one(), "hello")
    table.finish()
    entries = list(StreamReader(anywhere).all(table.id, "dialog"))
    assert entries == list(follow(anywhere, table.id, "dialog"))
    assert len(entries) == 1


def test_sessions_are_indexed_and_claimed(anywhere):
    index = SessionIndex(anywhere)
    index.add_session("s", look_in_ms=0)
    assert index.claim(limit=5, hold_ms=60_000) == ["s"]
    index.set_due_by("s", index.now_ms())
    index.reschedule("s", index.now_ms() + 60_000)
    assert index.claim(limit=5, hold_ms=60_000) == ["s"], "somebody asked for it meanwhile"
    assert [session_id for session_id, _ in index.iterate_listed()] == ["s"]
    anywhere.zadd(SESSIONS, {"s": 1})
    index.drop_orphan("s", index)
    index.unlist("s", 1)
    assert (index.unfinished(), list(index.iterate_listed())) == (0, [])


def test_workers_are_announced(anywhere):
    book = WorkerPresence(anywhere)
    book.announce("w", ["a"])
    assert [worker.name for worker in book.list_alive()] == ["w"]


def test_leases_run_out_by_the_servers_clock(anywhere):
    table = Table(anywhere)
    number = table.plan_one()
    late = table.grant(number, lease_ms=5)
    taken = until(lambda: (a := table.begin(number)).word == "granted" and a.grant)
    assert (taken.takeovers, table.commit(late, "stale").word) == (1, "stale")
    table.cancel()
