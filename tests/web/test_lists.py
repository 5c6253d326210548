"""Lists of sessions and questions, and the archive, over real HTTP."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import httpx
import pytest

from live import until
from scaling import patient
from servers.web import WebServer
from symposia.client.aio.client import AsyncClient
from symposia.client.session_rows import session_page
from symposia.web.app import create_app
from symposia.web.routes import lists

PAIR = {
    "purpose": "see",
    "mode": "pair",
    "participants": [{"participant_id": "ann", "agent": "say"}, {"participant_id": "bob", "agent": "say"}],
    "stop": {"max_rounds": 1},
}


def submit(server: WebServer, title: str, **more: object) -> str:
    return server.submit(session={**PAIR, "title": title}, **more)


def test_pages_have_each_session_once(server: WebServer):
    submitted = [submit(server, f"Page {number}", tags=["paged"]) for number in range(5)]
    listed, cursor = [], None
    while True:
        params = {"tag": "paged", "limit": 2, **({"cursor": cursor} if cursor else {})}
        page = server.get("/sessions", **params)
        assert len(page["items"]) <= 2
        listed += [row["id"] for row in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert sorted(listed) == sorted(submitted)
    times = [server.get(f"/sessions/{session_id}")["opened_at"] for session_id in listed]
    assert times == sorted(times, reverse=True)


def test_sessions_are_filtered(server: WebServer):
    session_id = submit(server, "A rare title", tenant="shop")
    for params in ({"q": "rare title"}, {"tenant": "shop", "since": "1h"}, {"thread": session_id}):
        assert session_id in [row["id"] for row in server.get("/sessions", **params)["items"]]
    assert server.get("/sessions", q="rare title", status="failed")["items"] == []


def test_the_inbox_lists_open_questions(server: WebServer):
    people = [
        {"participant_id": "ann", "agent": "say"},
        {"participant_id": "zoe", "kind": "human"},
    ]
    session_id = server.submit(session={**PAIR, "title": "Ask Zoe", "participants": people})
    until(lambda: server.get(f"/sessions/{session_id}/questions"))
    (question,) = server.get("/questions", name="zoe")["items"]
    assert (question["session_id"], question["asked"]) == (session_id, ["zoe"])
    assert server.get(f"/sessions/{session_id}")["questions"] == 1
    server.post(f"/sessions/{session_id}/cancel", {"reason": "enough"})
    assert server.get("/questions", name="zoe")["items"] == []


def test_archived_messages_are_found(server: WebServer):
    session_id = server.submit(session={**PAIR, "title": "To find"}, messages=["the quokka sleeps"])
    until(lambda: server.get("/archive/sessions", q="quokka")["items"], what="it is archived")
    (found,) = server.get("/archive/sessions", q="quokka")["items"]
    assert (found["session_id"], found["content"]) == (session_id, "the quokka sleeps")


def test_files_have_their_inputs(server: WebServer):
    (file,) = server.get("/files")
    assert file == server.get("/files/haiku")
    assert [(entry["name"], entry["type"], entry["required"]) for entry in file["inputs"]] == [
        ("topic", "string", True),
        ("lines", "integer", False),
    ]
    assert file["input_schema"]["required"] == ["topic"]


def test_slow_lists_leave_threads_for_other_requests(web: Any, monkeypatch: pytest.MonkeyPatch):
    gate = threading.Event()

    def slow_page(*args: Any, **options: Any) -> Any:
        assert gate.wait(patient(30))
        return session_page(*args, **options)

    async def steps() -> None:
        token = web.client.tokens.create("lists", tenant=None, scopes=["read"], expires="1h").text
        async with AsyncClient(web.client.settings) as client:
            app = create_app(web.client.settings, client=client)
            headers = {"Authorization": f"Bearer {token}"}
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1/v1", headers=headers
            ) as http:
                slow = [asyncio.create_task(http.get("/sessions?limit=1")) for _ in range(32)]
                try:
                    await asyncio.to_thread(until, app.state.symposia.lists.locked)
                    other = await asyncio.wait_for(http.get("/files"), patient(10))
                finally:
                    gate.set()
                answers = [other, *await asyncio.gather(*slow)]
                assert {answer.status_code for answer in answers} == {200}

    monkeypatch.setattr(lists, "session_page", slow_page)
    asyncio.run(asyncio.wait_for(steps(), patient(40)))
