"""A missing, broken or corrupt memory affects only the memory of a turn."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dialog_memory.room import Room, open_room
from live import result_of, until
from symposia.client.embedded import EmbeddedServer
from symposia.state.redis.connect import connect

pytestmark = pytest.mark.long

TRIP = {"from": "Nairobi", "to": "London"}


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A server for memories alone."""
    with EmbeddedServer(tmp_path_factory.mktemp("elsewhere"), durable=False, bound=True) as server:
        yield server


@pytest.fixture(scope="module")
def apart(elsewhere: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """A worker whose memories live on another server than its sessions."""
    yield from open_room(tmp_path_factory.mktemp("apart"), memory_redis_url=elsewhere.url)


@pytest.fixture(scope="module")
def forlorn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """A worker whose memory server never answers."""
    yield from open_room(
        tmp_path_factory.mktemp("forlorn"), memory_redis_url="redis://:hush-hush@127.0.0.1:1/0"
    )


def seen(room: Room, **how: object) -> dict:
    """What a turn is shown."""
    (text,) = room.said(room.submit("viewer", turns=1, **how))
    return json.loads(text)


def test_memory_may_use_its_own_server(apart, elsewhere):
    seen(apart, user_id=1, room_id="r", service="travel", said=TRIP)
    with connect(elsewhere.url) as client:
        assert client.exists("dialog:1:r")
    with connect(apart.settings["redis_url"]) as client:
        assert not client.exists("dialog:1:r")
    assert seen(apart, user_id=1, room_id="r")["parameters"] == TRIP
    assert len(apart.client.memory.export(1, "r", by=1)["conversations"]) == 2


def test_turn_runs_without_memory_during_an_outage(forlorn):
    view = seen(forlorn, user_id=1, room_id="r", service="travel", said={"to": "London"})
    assert view["degraded"] is True
    assert view["parameters"] == {"to": "London"}
    assert view["ask"] == ["from"]
    job = forlorn.submit("parser", "connector", turns=6, user_id=1, room_id="r")
    result = result_of(job, timeout_s=50)
    assert (result.reason, result.turns) == ("max_turns", 6)
    until(lambda: "dialog memory unavailable, running turns without it" in forlorn.worker.log())
    assert "hush-hush" not in forlorn.worker.log()
    assert "Traceback" not in forlorn.worker.log()


def test_later_turn_sees_what_its_session_learned_during_an_outage(forlorn):
    job = forlorn.submit("parser", "viewer", turns=2, user_id=7, room_id="r")
    view = json.loads(forlorn.said(job)[-1])
    assert view["degraded"] is True
    assert {"from": "Nairobi", "to": "London"}.items() <= view["parameters"].items()


def test_memory_is_used_again_after_an_outage(tmp_path: Path):
    folder = tmp_path / "elsewhere"
    (tmp_path / "room").mkdir()
    with EmbeddedServer(folder, durable=True, bound=True) as server:
        url = server.url
        rooms = open_room(tmp_path / "room", patience_s=2, memory_redis_url=url)
        room = next(rooms)
        try:
            assert seen(room, user_id=1, room_id="r", service="travel", said=TRIP)["degraded"] is False
            assert server.pid is not None
            os.kill(server.pid, signal.SIGSTOP)  # connections are taken and nothing is said
            try:
                assert seen(room, user_id=1, room_id="r")["degraded"] is True
                job = room.submit("parser", "human", turns=2, user_id=2, room_id="r")
                (asked,) = until(job.pending, timeout_s=30)
            finally:
                os.kill(server.pid, signal.SIGCONT)
            until(lambda: seen(room, user_id=1, room_id="r")["parameters"] == TRIP, timeout_s=30)
            job.reply(asked.participant, "yes")
            result_of(job, timeout_s=30)
            assert room.client.memory.get(2, "r")["parameters"]["to"] == "London"
        finally:
            rooms.close()


@pytest.mark.parametrize("kind", ["text", "list", "nonsense", "future"])
def test_turn_runs_with_any_stored_value(apart, elsewhere, kind):
    key = f"dialog:2:{kind}"
    with connect(elsewhere.url) as client:
        match kind:
            case "text":
                client.set(key, "no state", ex=600)
            case "list":
                client.rpush(key, "a")
            case "nonsense":
                client.set(key, json.dumps({"timestamp": time.time(), "service": "travel", "parameters": 7}))
            case _:
                state = {"timestamp": time.time() + 9e9, "service": "alchemy", "parameters": {"a": 1}}
                client.set(key, json.dumps(state), ex=600)
    view = seen(apart, user_id=2, room_id=kind, service="travel", said=TRIP)
    assert view["parameters"] == TRIP
    assert apart.client.memory.merge(2, kind, {}, service="travel") == TRIP
    assert "Traceback" not in apart.worker.log()


def test_corrupt_consent_counts_as_none(apart, elsewhere):
    with connect(elsewhere.url) as client:
        client.set("dialog-shared:3", '{"allowed": 7, "memory": {}}', ex=600)
    assert seen(apart, user_id=3, room_id="r", service="travel", said=TRIP)["parameters"] == TRIP
    assert apart.client.memory.shared(3) == ()


def test_unknown_service_is_left_alone(apart, elsewhere):
    state = {"timestamp": time.time(), "service": "alchemy", "parameters": {"metal": "lead"}}
    with connect(elsewhere.url) as client:
        client.set("dialog:4:r", json.dumps(state), ex=600)
    shown = seen(apart, user_id=4, room_id="r")
    assert {name: shown[name] for name in shown if name not in ("forms", "today")} == {
        "service": None,
        "parameters": {},
        "known": {},
        "missing": [],
        "ask": [],
        "services": ["alchemy"],
        "degraded": False,
    }
    seen(apart, user_id=4, room_id="r", service="travel", said=TRIP)
    with connect(elsewhere.url) as client:
        kept = json.loads(client.get("dialog:4:r"))
    assert kept["others"]["alchemy"]["parameters"] == {"metal": "lead"}
    assert "Traceback" not in apart.worker.log()
