"""Requests that are refused: each answer is a problem in JSON."""

from __future__ import annotations

from typing import Any

import pytest

from servers.web import WebServer

UNKNOWN = "0d8ec5c9-9ba9-4b0e-9d4e-1a7a1b1c1d10"


def check(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status
    return problem


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/sessions/{UNKNOWN}", 404),
        ("/sessions/0d8ec5c9", 404),
        (f"/sessions/{UNKNOWN}/events", 404),
        ("/nothing", 404),
        ("/schedules/none", 404),
        (f"/reviews/{UNKNOWN}", 404),
        ("/files/none", 422),
        ("/sessions?limit=101", 422),
        ("/sessions?since=yesterdayish", 422),
        ("/sessions?cursor=x", 422),
        (f"/sessions/{UNKNOWN}?deep=1", 422),
    ],
)
def test_reads_are_refused(server: WebServer, path, status):
    check(server.http.get(path), status)


def test_a_wrong_method_is_refused(server: WebServer):
    check(server.http.delete("/sessions"), 405)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "file"),
        ({"file": "haiku", "session": {}}, "file"),
        ({"file": "../../etc/passwd"}, "file"),
        ({"file": "haiku", "inputs": {"nothing": 1}}, "inputs.nothing"),
        ({"session": {"title": "A"}}, "purpose"),
        ({"session": {"title": "A", "attachments": ["/etc/passwd"]}}, "attachments"),
        ({"session": {"title": "A", "on_end": {"task": "t"}}}, "on_end"),
        ({"file": "haiku", "unknown": 1}, "unknown"),
        ({"session": {"title": "A"}, "attachments": [{"name": "a", "data": "?"}]}, "purpose"),
    ],
)
def test_submissions_are_refused(server: WebServer, body, field):
    problem = check(server.http.post("/sessions", json=body), 422)
    assert problem["errors"][0]["field"] == field
    assert "/" not in problem["detail"].replace("../../etc/passwd", "").replace("/etc/passwd", "")


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[" * 100_000,
        '{"a":' * 100 + "1" + "}" * 100,
        '{"file": "a", "file": "b"}',
        '{"file": 1e999}',
        "[" + "1," * 300_000 + "1]",
        b"\xff\xfe",
    ],
    ids=["cut", "brackets", "nested", "twice", "infinite", "values", "not UTF-8"],
)
def test_wrong_json_is_refused(server: WebServer, text):
    answer = server.http.post("/sessions", content=text, headers={"Content-Type": "application/json"})
    check(answer, 422)


def test_a_large_body_is_refused(server: WebServer):
    def chunks():
        for _ in range(40):
            yield b" " * 1024 * 1024

    headers = {"Content-Type": "application/json"}
    check(server.http.post("/sessions", content=b" " * 33 * 1024 * 1024, headers=headers), 413)
    check(server.http.post("/sessions", content=chunks(), headers=headers), 413)


def test_a_session_that_runs_has_no_result(server: WebServer):
    session_id = server.submit(file="haiku", inputs={"topic": "a"}, draft=True)
    check(server.http.get(f"/sessions/{session_id}/result", params={"wait": 0.1}), 409)
    check(server.http.get(f"/sessions/{session_id}/events", headers={"Last-Event-ID": "x"}), 422)
    check(server.http.get(f"/sessions/{session_id}/messages", params={"after": "1-1"}), 422)
    body = {"as": "ben", "text": "Yes"}
    check(server.http.post(f"/sessions/{session_id}/questions/1/reply", json=body), 409)
    server.post(f"/sessions/{session_id}/cancel", {})
