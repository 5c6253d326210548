"""Actions on many sessions, and their export."""

from __future__ import annotations

import io
import json
import zipfile
from http.client import HTTPResponse
from typing import Any

import pytest

from live import result_of, until
from servers.dashboard import CREDENTIALS
from servers.flower import Answer, action_headers
from sessions.submitted import submit_two

pytestmark = pytest.mark.long


@pytest.fixture
def act(dashboard):
    """Performs an action on many sessions."""
    headers = action_headers(dashboard.flower, CREDENTIALS)

    def act(action: str, **body: Any) -> Any:
        answer: Answer = dashboard.flower.post("/api/collabs/bulk", {"action": action, **body}, **headers)
        assert answer.status == 200, answer
        return answer.json()

    return act


@pytest.fixture
def submit(dashboard):
    """Submits sessions that wait for a person, and waits until the list has them."""

    def submit(title: str, count: int = 3, **options: Any):
        jobs = [
            submit_two(dashboard.client, f"{title} {number}", agent="human", **options)
            for number in range(count)
        ]
        path = f"/api/collabs?q={title}&attention=person"
        until(lambda: len(dashboard.flower.json(path)["collabs"]) == count, what="they are listed")
        return jobs

    return submit


def test_selected_sessions_are_suspended_resumed_and_cancelled(submit, act, dashboard):
    jobs = submit("selected")
    ids = [job.id for job in jobs]
    answer = act("suspend", ids=[*ids, ids[0]])
    assert (answer["total"], answer["done"], answer["failed"]) == (3, 3, 0)
    assert {job.status() for job in jobs} == {"suspended"}

    def listed(status: str) -> list[Any]:
        return dashboard.flower.json(f"/api/collabs?q=selected&status={status}")["collabs"]

    until(lambda: len(listed("suspended")) == 3, what="the list has the change")
    jobs[0].resume()
    answer = act("resume", ids=ids)
    assert (answer["done"], answer["failed"]) == (2, 0)
    assert {job.status() for job in jobs} == {"active"}
    until(lambda: len(listed("active")) == 3, what="the list has the change")
    dialog = act("cancel", ids=ids, ask=True)["dialog"]
    assert "Cancel 3 of 3 sessions?" in dialog
    assert {job.status() for job in jobs} == {"active"}
    answer = act("cancel", ids=[*ids, "0b7b1f5e-3f0e-4c1b-9d55-0a4d2c4c7d11"], reason="<b>enough</b>")
    assert (answer["done"], answer["failed"], answer["total"]) == (3, 1, 4)
    assert "not found" in answer["failures"][0]["error"]
    assert [(job.status(), job.state().reason) for job in jobs] == [("cancelled", "<b>enough</b>")] * 3
    answer = act("cancel", ids=ids)
    assert (answer["done"], answer["text"]) == (0, "Cancelled 0 of 3 sessions; 3 stay as they are.")


def test_all_that_match_are_cancelled(submit, act, dashboard):
    jobs = submit("matching", 5)
    jobs[4].cancel()
    others = submit("others", 1)
    query = {"q": "matching", "since": "1d", "select": "all"}
    until(lambda: "Cancel 4 of 5 sessions?" in act("cancel", query=query, ask=True).get("dialog", ""))
    answer = act("cancel", query=query, reason="done")
    assert (answer["total"], answer["done"], answer["failed"]) == (5, 4, 0)
    assert {job.status() for job in jobs} == {"cancelled"}
    assert others[0].status() == "active"
    assert act("suspend", query={"q": "matching", "status": "completed"})["done"] == 0
    others[0].cancel()


def test_failed_session_begins_again_before_the_failed_turn(dashboard, act):
    job = submit_two(dashboard.client, "It fails for good", agent="blind")
    result_of(job, timeout_s=60)
    until(
        lambda: dashboard.flower.json("/api/collabs?q=fails for good".replace(" ", "%20") + "&status=failed")[
            "collabs"
        ]
    )
    assert "Begin 1 of 1 session again?" in act("retry", ids=[job.id], ask=True)["dialog"]
    assert act("retry", ids=[job.id])["done"] == 1
    until(lambda: len(dashboard.client.thread(job.id)) == 2, what="the thread has another session")


@pytest.mark.parametrize(
    "body",
    [
        {"action": "odd", "ids": []},
        {"action": "cancel"},
        {"action": "cancel", "ids": "all"},
        {"action": "cancel", "ids": [1]},
        {"action": "cancel", "ids": [], "query": {}},
        {"action": "cancel", "query": {"stauts": "failed"}},
        {"action": "cancel", "query": {"status": "odd"}},
        {"action": "cancel", "query": {"q": 1}},
    ],
)
def test_wrong_request_changes_nothing(dashboard, body):
    answer = dashboard.flower.post("/api/collabs/bulk", body, **action_headers(dashboard.flower, CREDENTIALS))
    assert answer.status == 400, answer


def read_zip(response: HTTPResponse) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(response.read())) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_export_has_a_file_for_each_session(submit, dashboard):
    jobs = submit("exported", 2)
    missing = "0b7b1f5e-3f0e-4c1b-9d55-0a4d2c4c7d11"
    for query in (f"id={jobs[0].id}&id={jobs[1].id}&id={missing}", "select=all&q=exported"):
        with dashboard.flower.opened("GET", f"/collabs/export?{query}") as response:
            files = read_zip(response)
        for job in jobs:
            assert json.loads(files[f"{job.id}.json"])["collab"]["collab_id"] == job.id
        assert (f"{missing}.error.txt" in files) == ("id=" in query)
    assert dashboard.flower.get("/collabs/export").status == 400
    for job in jobs:
        job.cancel()
