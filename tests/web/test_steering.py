"""Changes of sessions over real HTTP, and files of messages."""

from __future__ import annotations

import base64

from live import until
from servers.web import WebServer

PEOPLE = [{"participant_id": "ann", "agent": "say"}, {"participant_id": "ben", "kind": "human"}]
WAITING = {
    "title": "Waits for Ben",
    "purpose": "see",
    "mode": "round_robin",
    "participants": PEOPLE,
    "stop": {"max_rounds": 2},
}


def test_a_draft_is_steered_to_its_end(server: WebServer):
    session_id = server.submit(session=WAITING, draft=True)
    assert server.get(f"/sessions/{session_id}")["status"] == "draft"
    for key in ("k", "k", None):
        headers = {"Idempotency-Key": key} if key else {}
        answer = server.http.post(f"/sessions/{session_id}/post", json={"text": "Hello"}, headers=headers)
        assert answer.status_code == 200, answer.text
    server.post(f"/sessions/{session_id}/activate", {})
    assert server.post(f"/sessions/{session_id}/suspend", {})["status"] == "suspended"
    assert server.post(f"/sessions/{session_id}/resume", {})["status"] == "active"
    server.post(f"/sessions/{session_id}/instruct", {"participant": "ann", "text": "Be short."})
    new = {"participant": {"participant_id": "cyd"}, "agent": "say"}
    added = server.post(f"/sessions/{session_id}/participants", new)
    assert added["id"] == session_id
    server.http.delete(f"/sessions/{session_id}/participants/cyd").raise_for_status()
    server.post(f"/sessions/{session_id}/stop", {})
    assert server.get(f"/sessions/{session_id}/result", wait=30)["reason"] == "stop_requested"
    contents = [message["content"] for message in server.get(f"/sessions/{session_id}/messages")]
    assert contents.count("Hello") == 2
    again = server.http.post(f"/sessions/{session_id}/cancel")
    assert (again.status_code, again.json()["type"]) == (409, "urn:symposia:problem:illegal-transition")


def test_a_session_is_continued_and_forked(server: WebServer):
    session_id = server.submit(file="haiku", inputs={"topic": "doors", "lines": 2})
    result = server.get(f"/sessions/{session_id}/result", wait=30)
    assert result["ok"]
    assert server.get(f"/sessions/{session_id}")["purpose"] == "Write 2 lines about doors."
    new = server.post(f"/sessions/{session_id}/continue", {"text": "Again"}, status=201)
    assert new["thread_id"] == session_id
    fork = server.post(f"/sessions/{session_id}/fork", {"at_turn": 2}, status=201)
    assert fork["id"] != session_id
    turns = server.get(f"/sessions/{session_id}/turns")["items"]
    assert [turn["turn_id"] for turn in turns] == list(range(1, result["turns"] + 1))
    assert {row["participant"] for row in server.get(f"/sessions/{session_id}/usage")} <= {"poet", "editor"}


def test_the_same_submission_again_is_the_same_session(server: WebServer):
    body = {"file": "haiku", "inputs": {"topic": "a"}, "collab_id": "0d8ec5c9-9ba9-4b0e-9d4e-1a7a1b1c1d1e"}
    first, second = (server.http.post("/sessions", json=body) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["id"] == second.json()["id"] == body["collab_id"]
    other = server.http.post("/sessions", json={**body, "inputs": {"topic": "b"}})
    assert (other.status_code, other.json()["type"]) == (409, "urn:symposia:problem:session-conflict")


def test_attachments_are_downloads(server: WebServer):
    data = b"<script>alert(1)</script>"
    file = {"name": "page ä.html", "data": base64.b64encode(data).decode()}
    session_id = server.submit(session=WAITING, messages=["See"], attachments=[file])
    until(lambda: server.get(f"/sessions/{session_id}/messages"))
    (attachment,) = server.get(f"/sessions/{session_id}/attachments")
    for wanted in (attachment["name"], attachment["sha256"]):
        answer = server.http.get(f"/sessions/{session_id}/attachments/{wanted}")
        assert answer.content == data
        assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''page%20%C3%A4.html"
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert server.http.get(f"/sessions/{session_id}/attachments/other").status_code == 404
    server.post(f"/sessions/{session_id}/cancel", {})


def test_an_unchanged_session_is_not_sent_again(server: WebServer):
    session_id = server.submit(session=WAITING, draft=True)
    first = server.http.get(f"/sessions/{session_id}")
    headers = {"If-None-Match": first.headers["etag"]}
    assert server.http.get(f"/sessions/{session_id}", headers=headers).status_code == 304
    server.post(f"/sessions/{session_id}/cancel", {})
    changed = server.http.get(f"/sessions/{session_id}", headers=headers)
    assert (changed.status_code, changed.json()["status"]) == (200, "cancelled")


def test_schedules_are_changed(server: WebServer):
    added = server.post("/schedules", {"name": "haikus", "every": "1h", "job": "standup"}, status=422)
    assert added["errors"][0]["field"] == "job"
    panel = {"panel": "code", "sessions": {"newest": 1}}
    server.post("/schedules", {"name": "weekly", "cron": "0 3 * * 1", "review": panel}, status=201)
    assert server.post("/schedules/weekly/pause", {})["paused"] is True
    assert server.post("/schedules/weekly/resume", {})["paused"] is False
    put = server.http.put("/schedules/weekly", json={"every": "2h", "review": panel})
    assert put.status_code == 200, put.text
    assert [entry["name"] for entry in server.get("/schedules")["items"]] == ["weekly"]
    run = server.post("/schedules/weekly/run", {}, status=202)
    until(lambda: [row for row in server.get("/schedules/weekly/history") if row["id"] == run["id"]])
    assert server.http.delete("/schedules/weekly").status_code == 204
    assert server.http.get("/schedules/weekly").status_code == 404
