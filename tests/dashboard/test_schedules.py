"""Schedules in Flower: next and last runs, history, pause, resume and run."""

from __future__ import annotations

import json

import pytest

from live import LiveWorker, until
from servers.dashboard import CREDENTIALS
from servers.flower import action_headers, basic

TALK = {
    "title": "A talk",
    "purpose": "Talk.",
    "mode": "round_robin",
    "participants": [{"participant_id": "ann", "agent": "say"}],
    "stop": {"max_turns": 1},
}


@pytest.fixture
def settings(settings, tmp_path):
    """The settings, with the job `talk`."""
    (tmp_path / "talk.yaml").write_text(json.dumps(TALK))
    return {**settings, "jobs": json.dumps({"talk": str(tmp_path / "talk.yaml")})}


@pytest.mark.leaves_keys
def test_a_schedule_is_paused_resumed_and_run(guarded, client, worker: LiveWorker):
    schedules = client.schedules
    schedules.add("nightly", cron="0 3 * * *", zone="Europe/Berlin", job="talk")
    user, headers = basic(CREDENTIALS), action_headers(guarded, CREDENTIALS, "/schedules")
    (row,) = guarded.json("/api/schedules", **user)["schedules"]
    assert (row["name"], row["action"], row["zone"], row["paused"]) == (
        "nightly",
        "job talk",
        "Europe/Berlin",
        False,
    )
    assert row["next_ms"] > 0
    assert (row["last"], row["running"], row["queued"]) == (None, None, 0)

    for bad in ({}, user, {**headers, "Origin": "https://evil.example"}, {**headers, "X_XSRFToken": "x"}):
        assert guarded.post("/api/schedules/nightly/pause", **bad).status in (401, 403)
    assert not schedules.get("nightly").paused
    paused = guarded.post("/api/schedules/nightly/pause", **headers).json()["schedule"]
    assert (paused["paused"], paused["next_ms"], schedules.get("nightly").paused) == (True, None, True)
    resumed = guarded.post("/api/schedules/nightly/resume", **headers).json()["schedule"]
    assert (resumed["paused"], resumed["next_ms"], schedules.get("nightly").paused) == (
        False,
        row["next_ms"],
        False,
    )

    run = guarded.post("/api/schedules/nightly/run", **headers).json()["run"]

    def ended():
        return guarded.json("/api/schedules/nightly", **user)["runs"]

    (record,) = until(ended, what="the run has ended")
    assert (record["id"], record["outcome"], record["by_hand"]) == (run, "completed", True), record
    assert guarded.json("/api/schedules", **user)["schedules"][0]["last"] == record
    assert client.get_job(run).status().value == "completed"
    assert guarded.post("/api/schedules/none/run", **headers).status == 404
    assert guarded.get("/api/schedules/none", **user).status == 404


@pytest.mark.leaves_keys
@pytest.mark.long
def test_schedules_are_read_only_without_login(flower, client):
    for name in ("c", "a", "b"):
        client.schedules.add(name, every="1h", job="talk")
    first = flower.json("/api/schedules?limit=2")
    second = flower.json(f"/api/schedules?limit=2&after={first['next']}")
    assert [[it["name"] for it in page["schedules"]] for page in (first, second)] == [["a", "b"], ["c"]]
    assert second["next"] is None
    page = flower.get("/schedules")
    assert page.status == 200
    assert "data-actions" not in page.text
    assert flower.post("/api/schedules/a/pause").status == 403
    assert not client.schedules.get("a").paused
