"""Live changes: what streams send, how they resume, and how many a browser has."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from live import LiveWorker, result_of, until
from servers.flower import FlowerServer
from sessions.submitted import submit_two
from symposia.client import Client
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import DUE

#: They start servers of their own.
pytestmark = pytest.mark.long


def test_session_appears_and_leaves_a_filter(dashboard):
    with dashboard.flower.stream("/api/collabs/stream?status=active&q=appears") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        job = submit_two(dashboard.client, "It appears", agent="human")
        seen = stream.until(lambda it: it.kind == "collab")
        assert (seen.data["id"], seen.data["title"]) == (job.id, "It appears")
        counts = stream.until(lambda it: it.kind == "counts" and it.data["person"])
        assert counts.data["active"]
        job.cancel()
        gone = stream.until(lambda it: it.kind == "gone" and it.data["id"] == job.id)
        assert int(gone.id.partition("-")[0]) >= int(seen.id.partition("-")[0])


def test_rows_follow_a_running_session(dashboard, tmp_path):
    gate = tmp_path / "gate"
    with dashboard.flower.stream("/api/collabs/stream?q=gated") as stream:
        job = submit_two(
            dashboard.client,
            "A gated line",
            agent="gated",
            stop={"max_turns": 4},
            parameters={"gate": str(gate), "gate_turn": 2},
        )
        row = stream.until(
            lambda it: it.kind == "collab" and _speakers(it.data) == [("bob", "speaking")]
        ).data
        assert (row["turns"], row["max_turns"]) == (1, 4)
        gate.touch()
        row = stream.until(lambda it: it.kind == "collab" and it.data["status"] == "completed").data
    assert (row["turns"], row["speakers"], row["attention"]) == (4, [], None)
    assert row["reason"]
    assert result_of(job).ok


def test_a_failing_agent_is_the_last_error(dashboard):
    with dashboard.flower.stream("/api/collabs/stream?q=fails") as stream:
        submit_two(dashboard.client, "It fails", agent="blind")
        row = stream.until(lambda it: it.kind == "collab" and it.data["ended_ms"] is not None).data
    assert row["last_error"]["participant"] == "ann"
    assert "cannot see" in row["last_error"]["text"]


def test_browser_has_three_streams_and_then_polls(dashboard):
    flower = dashboard.flower
    cookie = flower.get("/collabs").headers["set-cookie"].partition(";")[0]
    path = "/api/collabs/stream"
    with ExitStack() as stack:
        opened = [stack.enter_context(flower.stream(path, Cookie=cookie)) for _ in range(3)]
        assert [it.status for it in opened] == [200, 200, 200]
        assert flower.get(path, Cookie=cookie).status == 204
        with flower.stream(path, Cookie="symposia_browser=other") as other:
            assert other.status == 200
        position = flower.json("/api/collabs")["position"]
        job = submit_two(dashboard.client, "Polled")
        changes = until(lambda: _with_rows(flower.json(f"/api/collabs/changes?q=polled&after={position}")))
        assert [it["id"] for it in changes["collabs"]] == [job.id]
        assert changes["position"] != position
        changes = until(lambda: _with_gone(flower.json(f"/api/collabs/changes?q=other&after={position}")))
        assert job.id in changes["gone"]
    until(lambda: _status(flower, path, cookie) == 200, what="closed streams are free again")


def test_removed_session_leaves_pages_that_poll(dashboard):
    job = submit_two(dashboard.client, "Removed", agent="human")
    until(lambda: dashboard.flower.json("/api/collabs?q=removed&status=person")["collabs"])
    position = dashboard.flower.json("/api/collabs")["position"]
    with connect(dashboard.client.redis_url) as redis:
        redis.delete(*redis.scan_iter(f"symposia:{{{job.id}}}:*"))
        redis.zrem(DUE, job.id)
    path = f"/api/collabs/changes?q=removed&after={position}"
    until(lambda: job.id in dashboard.flower.json(path)["gone"], what="the page removes it")
    with dashboard.flower.stream(f"/api/collabs/stream?after={position}") as stream:
        stream.until(lambda it: it.kind == "gone" and it.data["id"] == job.id)


def test_stream_resumes_after_flower_was_killed(start_flower, client: Client, worker: LiveWorker):
    flower = start_flower()
    with flower.stream("/api/collabs/stream") as stream:
        result_of(submit_two(client, "Before", stop={"max_turns": 2}))
        last = stream.until(lambda it: it.kind == "collab" and it.data["status"] == "completed")
    flower.kill()
    missed = submit_two(client, "While away", stop={"max_turns": 2})
    result_of(missed)
    flower.start()
    with flower.stream("/api/collabs/stream", Last_Event_ID=last.id) as stream:
        row = stream.until(lambda it: it.kind == "collab" and it.data["title"] == "While away").data
    assert (row["id"], row["status"], row["turns"]) == (missed.id, "completed", 2)


@pytest.mark.parametrize("path", ["/api/collabs/stream", "/api/collabs/changes"])
def test_bad_position_gives_a_one_line_error(dashboard, path):
    answer = dashboard.flower.get(f"{path}?after=<script>")
    assert answer.status == 400
    assert "must be a position" in answer.json()["error"]


def _speakers(row):
    return [(it["participant"], it["state"]) for it in row["speakers"]]


def _with_rows(changes):
    return changes if changes["collabs"] else None


def _with_gone(changes):
    return changes if changes["gone"] else None


def _status(flower: FlowerServer, path: str, cookie: str) -> int:
    with flower.stream(path, Cookie=cookie) as stream:
        return stream.status
