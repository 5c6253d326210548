"""Turns of remote systems are no questions to people: no protocol asks its user, and no text of a user answers them."""

from __future__ import annotations

import httpx
import pytest

from live import until
from symposia.models.text.ids import new_id

from .conftest import WebInstallation

REMOTE = {
    "title": "Remote",
    "purpose": "Ask the partner.",
    "mode": "round_robin",
    "participants": [{"participant_id": "bot", "agent": "partner", "kind": "external"}],
    "stop": {"max_rounds": 1},
}


@pytest.fixture
def session_id(web: WebInstallation):
    session_id = web.server.submit(session=REMOTE, tags=["a2a:haiku"])
    job = web.client.get_job(session_id)
    until(job.pending, what="the turn is parked")
    yield session_id
    job.cancel()


def test_remote_turn_is_in_no_list_of_questions(web: WebInstallation, session_id: str):
    assert web.server.get(f"/sessions/{session_id}/questions") == []
    assert web.server.get(f"/sessions/{session_id}")["questions"] == 0
    assert session_id not in {item["session_id"] for item in web.server.get("/questions", limit=100)["items"]}


def test_remote_turn_asks_no_user_of_a2a(web: WebInstallation, session_id: str):
    url = f"http://127.0.0.1:{web.server.port}/a2a/haiku"
    body = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": session_id}}
    answer = httpx.post(url, json=body, headers={"A2A-Version": "1.0"}).json()
    assert answer["result"]["status"]["state"] == "TASK_STATE_SUBMITTED"
    message = {"messageId": new_id(), "taskId": session_id, "role": "ROLE_USER", "parts": [{"text": "Hi"}]}
    body = {"jsonrpc": "2.0", "id": 2, "method": "SendMessage", "params": {"message": message}}
    answer = httpx.post(url, json=body, headers={"A2A-Version": "1.0"}).json()
    assert "asks nothing now" in answer["error"]["message"]
