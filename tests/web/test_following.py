"""Followers of events: through a killed server, of ended and archived sessions, with live output, and their limit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from live import until
from scaling import patient
from servers.web import ServerSentEvent, WebServer
from symposia.client.aio.client import AsyncClient
from symposia.config.settings import load_settings
from symposia.models.identity import LOCAL
from symposia.state.redis.connect import connect
from symposia.web.limits import CallerLimits

from .conftest import WebInstallation

pytestmark = pytest.mark.timeout(180)


def gated(gate: Path, *, agent: str = "gated", turns: int = 4) -> dict[str, Any]:
    """A session whose third turn waits for a file."""
    return {
        "title": "Gated",
        "purpose": "see",
        "mode": "round_robin",
        "participants": [{"participant_id": name, "agent": agent} for name in ("ann", "bob")],
        "parameters": {"gate": str(gate), "gate_turn": 3},
        "stop": {"max_turns": turns},
    }


@pytest.fixture
def other(web: WebInstallation) -> Iterator[WebServer]:
    """A server that a test may kill."""
    server = WebServer(web.folder, web.settings).start()
    yield server
    server.close()


def stored(events: Iterator[ServerSentEvent] | list[ServerSentEvent]) -> list[ServerSentEvent]:
    return [event for event in events if event.id]


def test_a_follower_loses_nothing_when_the_server_is_killed(other: WebServer, tmp_path):
    gate = tmp_path / "gate"
    session_id = other.submit(session=gated(gate))
    seen: list[ServerSentEvent] = []
    with suppress(httpx.TransportError):
        for event in other.events(session_id):
            seen.append(event)
            if len([event for event in seen if event.event == "message"]) == 2:
                other.kill()
    assert seen[-1].event != "end"
    gate.touch()
    other.start()
    rest = list(other.events(session_id, after=stored(seen)[-1].id))
    assert rest[-1].event == "end"
    assert stored(seen) + stored(rest) == stored(other.events(session_id))
    assert len([event for event in stored(seen) + stored(rest) if event.event == "message"]) == 4


def test_a_stopped_server_ends_its_streams(other: WebServer, tmp_path):
    gate = tmp_path / "gate"
    session_id = other.submit(session=gated(gate))
    seen = []
    for event in other.events(session_id):
        seen.append(event)
        if event.event == "message":
            other.process.terminate()
    assert seen[-1].event != "end"
    assert other.process.wait(timeout=patient(20)) == 0
    gate.touch()


def test_output_of_a_running_turn_is_sent(server: WebServer, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    talks = {"agent": "talks", "parameters": {"gate": str(second), "quiet": 0}}
    session = gated(first, turns=2) | {"parameters": {"gate": str(first)}, "agents": {"bob": talks}}
    session["participants"] = [{"participant_id": "ann", "agent": "gated"}, {"participant_id": "bob"}]
    session_id = server.submit(session=session)
    deltas = []
    for event in server.events(session_id):
        first.touch()  # turns that begin while a follower is connected send their output
        if event.event == "delta":
            deltas.append(event)
            second.touch()
    assert (deltas[0].data["speaker"], deltas[0].data["turn_id"]) == ("bob", 2)
    assert server.get(f"/sessions/{session_id}/messages")[1]["content"].startswith(deltas[0].data["text"])
    assert not any(event.id for event in deltas)
    assert not [event for event in server.events(session_id, deltas=False) if event.event == "delta"]


def test_an_archived_session_is_followed_to_its_end(web: WebInstallation, server: WebServer):
    session_id = server.submit(file="haiku", inputs={"topic": "archives"})
    events = list(server.events(session_id))
    until(lambda: server.get("/archive/sessions", q="speaks", limit=100)["items"], what="it is archived")
    reader = web.client.archived()
    assert reader is not None
    until(lambda: reader.has_ended(session_id), what="its end is archived")
    with connect(web.settings["redis_url"]) as redis:
        keys = list(redis.scan_iter(f"*{{{session_id}}}*"))
        redis.delete(*keys)
    assert server.get(f"/sessions/{session_id}")["is_live"] is False
    archived = list(server.events(session_id))
    assert [(event.event, event.data) for event in stored(archived)] == [
        (event.event, event.data) for event in stored(events)
    ]
    assert archived[-1] == events[-1]
    middle = stored(events)[3].id
    assert stored(server.events(session_id, after=middle)) == stored(events)[4:]


def test_a_caller_has_a_limited_number_of_streams():
    limits = CallerLimits(requests=2, streams=200)
    opened = [limits.stream(LOCAL) for _ in range(200)]
    for stream in opened:
        stream.__enter__()
    with pytest.raises(Exception, match="200 open streams"), limits.stream(LOCAL):
        pass
    for stream in opened:
        stream.__exit__(None, None, None)
    with limits.stream(LOCAL):
        pass
    limits.count_request(LOCAL)
    limits.count_request(LOCAL)
    with pytest.raises(Exception, match="more than 2 requests in a minute") as refused:
        limits.count_request(LOCAL)
    assert (refused.value.status_code, refused.value.headers["Retry-After"]) == (429, "30")


def test_a_mounted_app_uses_the_client_of_its_owner(web: WebInstallation):
    from fastapi import FastAPI
    from fastapi.testclient import TestClient

    from symposia.web.app import create_app

    chosen: dict[str, Any] = web.settings
    settings = load_settings(**chosen)
    outer = FastAPI()
    outer.mount("/symposia", create_app(settings, client=AsyncClient(settings), authenticate=False))
    with TestClient(outer, base_url="http://127.0.0.1", client=("127.0.0.1", 50_000)) as http:
        body = {"file": "haiku", "inputs": {"topic": "mounts"}, "draft": True}
        answer = http.post("/symposia/v1/sessions", json=body)
        assert answer.status_code == 201, answer.text
        assert answer.headers["location"] == f"/symposia/v1/sessions/{answer.json()['id']}"
        assert http.post(f"{answer.headers['location']}/cancel").status_code == 200
