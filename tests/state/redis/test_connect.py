"""Connections: what a lost one is called, wherever it is lost."""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from redis import Redis

from scaling import patient
from servers.ports import own_port
from symposia.client.embedded import EmbeddedServer
from symposia.models.errors import RedisUnavailable
from symposia.models.text.ids import new_id
from symposia.state.following import follow
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import aconnect, check_reachable, connect
from symposia.state.redis.keys import DUE
from symposia.state.redis.readers import StreamReader
from symposia.state.redis.scripts import evaluate, load_script
from symposia.state.sessions.index import SessionIndex
from symposia.state.sessions.store import SessionStore


@pytest.fixture(scope="module")
def nobody() -> str:
    """The URL of a server that does not run, with a password that must stay hidden."""
    return f"redis://:hunter2@127.0.0.1:{own_port()}/0"


CALLS = {
    "state": lambda client: SessionStore(client).state("s"),
    "suspend": lambda client: SessionStore(client).suspend("s"),
    "board": lambda client: SessionStore(client).board("s"),
    "documents": lambda client: SessionStore(client).documents("s"),
    "add": lambda client: SessionIndex(client).add_session("s", look_in_ms=0),
    "sooner": lambda client: SessionIndex(client).set_due_by("s", 0),
    "claim": lambda client: SessionIndex(client).claim(limit=1, hold_ms=1),
    "listed": lambda client: list(SessionIndex(client).iterate_listed()),
    "announce": lambda client: WorkerPresence(client).announce("w", []),
    "alive": lambda client: WorkerPresence(client).list_alive(),
    "page": lambda client: StreamReader(client).page("s", "dialog"),
    "follow": lambda client: next(follow(client, "s", "dialog")),
}


@pytest.mark.parametrize("call", CALLS)
def test_missing_server_gives_one_error_for_every_call(nobody, call):
    with connect(nobody, retries=0) as client, pytest.raises(RedisUnavailable) as caught:
        CALLS[call](client)
    error = caught.value
    assert isinstance(error, ConnectionError)
    assert "hunter2" not in f"{error!r} {error} {error.url} {error.hint}"
    assert "127.0.0.1" in str(error)
    assert "\n" not in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - our own


def test_asyncio_client_has_the_same_error(nobody):
    async def ask() -> None:
        client = aconnect(nobody)
        try:
            await client.ping()
        finally:
            await client.aclose()

    with pytest.raises(RedisUnavailable, match=r"127\.0\.0\.1"):
        asyncio.run(ask())


def test_asyncio_client_replaces_cut_connections(redis_url):
    name = f"cut-{new_id()}"

    async def ask() -> None:
        client = aconnect(f"{redis_url}?client_name={name}")
        with connect(redis_url) as killer:
            for _ in range(3):
                assert await client.ping()
                (mine,) = (told["id"] for told in killer.client_list() if told["name"] == name)
                killer.client_kill_filter(_id=mine)
        await client.aclose()

    asyncio.run(ask())


def test_asyncio_client_never_retries_a_wrong_password(redis_url):
    async def ask() -> None:
        client = aconnect(redis_url.replace("@", "wrong@"))
        try:
            await client.ping()
        finally:
            await client.aclose()

    with connect(redis_url) as client:
        before = client.info("stats")["total_connections_received"]
        with pytest.raises(RedisUnavailable):
            asyncio.run(ask())
        assert client.info("stats")["total_connections_received"] <= before + 1


def test_nothing_is_sent_before_the_first_command(nobody):
    connect(nobody).close()


def test_reachable_server_returns_its_version(client, redis_url):
    assert check_reachable(client, redis_url)[0].isdigit()


def test_error_names_the_server_without_its_password(nobody):
    with connect(nobody, retries=0) as client, pytest.raises(RedisUnavailable, match=r"redis://:\*\*\*@127"):
        check_reachable(client, nobody)


def test_wrong_password_fails_at_once(redis_url):
    wrong = redis_url.replace("@", "wrong@")
    with connect(wrong, retries=1_000) as client, pytest.raises(RedisUnavailable):
        SessionStore(client).state("s")


def test_a_server_that_comes_back_is_used_again(tmp_path: Path):
    with (
        EmbeddedServer(tmp_path, port=own_port(), durable=False, bound=True) as server,
        connect(server.url, retries=0) as client,
    ):
        index = SessionIndex(client)
        index.add_session("s", look_in_ms=0)
        server.stop()
        with pytest.raises(RedisUnavailable):
            index.claim(limit=1, hold_ms=1)
        server.start()
        assert index.claim(limit=1, hold_ms=1) == []


@pytest.fixture
def named(redis_url: str) -> Iterator[tuple[Redis, Callable[[], set[str]]]]:
    """A client, and the server's numbers of the connections over which it has sent scripts."""
    name = f"lane-{new_id()}"
    with connect(f"{redis_url}?client_name={name}") as client, connect(redis_url) as watcher:

        def lanes() -> set[str]:
            mine = (told for told in watcher.client_list() if told["name"] == name)
            return {told["id"] for told in mine if told["cmd"] == "evalsha"}

        yield client, lanes


def _speak(client: Redis) -> None:
    """Has the server run a script."""
    SessionIndex(client).reschedule("nobody", 0)


def _speak_in_a_thread(client: Redis) -> None:
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(_speak, client).result()


def test_each_thread_has_one_connection(named):
    client, lanes = named
    _speak(client), _speak(client)
    assert len(lanes()) == 1
    _speak_in_a_thread(client)
    assert len(lanes()) == 2


def test_many_threads_have_connections(named):
    client, lanes = named
    together = threading.Barrier(150)

    def speak() -> None:
        _speak(client)
        together.wait(patient(30))

    with ThreadPoolExecutor(max_workers=150) as pool:
        for ended in [pool.submit(speak) for _ in range(150)]:
            ended.result()
        assert len(lanes()) == 150


def test_ended_thread_leaves_its_connection(named):
    client, lanes = named
    for _ in range(20):
        _speak_in_a_thread(client)
    assert len(lanes()) == 1


def test_child_process_uses_its_own_connection(named):
    client, lanes = named
    _speak(client)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _speak(client)
        os.write(writer, str(len(lanes())).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 9) == b"2"
    _speak(client)


def test_script_on_a_cut_connection_is_sent_again(named, redis_url):
    client, lanes = named
    _speak(client)
    (cut,) = lanes()
    with connect(redis_url) as killer:
        killer.client_kill_filter(_id=cut)
    _speak(client)
    assert lanes().isdisjoint({cut})


def test_finalizer_does_not_wait_for_an_ended_thread(redis_url):
    with connect(redis_url) as client:
        evaluate(client, load_script("due_index/claim"), [DUE], [1, 1])
        held, over = threading.Event(), threading.Event()

        def hold():
            with client.connection_pool._lock:
                held.set()
                over.wait()

        def finalize(*things):
            for thing in things:
                thing.__del__(is_finalizing=lambda: True)

        holder = threading.Thread(target=hold)
        holder.start()
        held.wait()
        finalizer = threading.Thread(target=finalize, args=(client._lanes.lane, client))
        finalizer.start()
        finalizer.join(patient(10))
        is_done = not finalizer.is_alive()
        over.set()
        for thread in (holder, finalizer):
            thread.join()
    assert is_done
