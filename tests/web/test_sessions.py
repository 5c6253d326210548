"""Sessions over real HTTP: submit, follow, answer, read the result."""

from __future__ import annotations

from typing import Any

from servers.web import WebServer

ASKING: dict[str, Any] = {
    "title": "May I?",
    "purpose": "Ask Ben.",
    "mode": "round_robin",
    "participants": [
        {"participant_id": "ann", "agent": "careful"},
        {"participant_id": "ben", "kind": "human"},
    ],
    "stop": {"max_rounds": 1},
}


def test_a_session_from_submission_to_result(server: WebServer):
    answer = server.http.post("/sessions", json={"session": ASKING})
    assert answer.status_code == 201, answer.text
    session_id = answer.json()["id"]
    assert answer.headers["location"] == f"/v1/sessions/{session_id}"
    seen, answered = [], set()
    for event in server.events(session_id):
        seen.append(event)
        if event.event == "question":
            question = event.data
            assert "reply_token" not in question
            if question["id"] not in answered:
                answered.add(question["id"])
                text = question["choices"][0] if question["choices"] else "Fine."
                body = {"as": "ben", "text": text, "question": question["id"]}
                server.post(f"/sessions/{session_id}/questions/{question['turn_id']}/reply", body)
    assert seen[-1].event == "end"
    end = seen[-1].data
    assert (end["status"], end["result"]["ok"]) == ("completed", True)
    messages = [event.data for event in seen if event.event == "message"]
    assert [message["content"] for message in messages] == [
        "I looked around.",
        "May I delete it?",
        "yes",
        "ben said yes",
        "Fine.",
    ]
    assert all(event.id for event in seen if event.event in ("message", "status"))
    assert server.get(f"/sessions/{session_id}/result") == end["result"]
    assert server.get(f"/sessions/{session_id}/messages") == messages
    assert server.get(f"/sessions/{session_id}/questions") == []


def test_each_event_comes_once_after_any_id(server: WebServer):
    session_id = server.submit(file="haiku", inputs={"topic": "doors"})
    stored = [event for event in server.events(session_id) if event.id]
    for index in (0, len(stored) // 2, len(stored) - 1):
        rest = list(server.events(session_id, after=stored[index].id))
        assert [event for event in rest if event.id] == stored[index + 1 :]
        assert rest[-1].event == "end"
