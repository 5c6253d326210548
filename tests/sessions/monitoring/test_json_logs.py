"""The log of a real worker in JSON: every line is an object, and those of a turn name it."""

from __future__ import annotations

import json

import pytest

from checks.expiry import wrong_keys
from live import LiveWorker, mood, result_of, until
from servers.flower import FlowerServer
from symposia.models.sessions.stop_conditions import MaxTurns


def lines_of(worker: LiveWorker) -> list[dict[str, object]]:
    """The fields of every line of the log."""
    log = worker.log()  # before its setup, warnings of Celery are text
    return [json.loads(line) for line in log[log.index("{") :].splitlines()]


@pytest.fixture
def json_logs(monkeypatch):
    monkeypatch.setenv("SYMPOSIA_LOG_FORMAT", "json")
    monkeypatch.setenv("CELERY_QUIET", "1")  # no banner


@pytest.mark.worker_needs("own app")
def test_lines_of_a_failed_turn_name_it(installation, json_logs):
    worker = installation.start_worker()
    job = installation.submit(
        "round_robin",
        {"ann": "moody", "bob": "say"},
        stop=MaxTurns(2),
        policy={"attempts": 2, "backoff_s": 0.05},
        parameters={"fails": 1},
    )
    assert result_of(job).reason == "max_turns"
    until(lambda: f'session {job.id} completed: max_turns"' in worker.log(), what="the end is logged")
    (failed,) = [it for it in lines_of(worker) if "failed (attempt 1 of 2)" in str(it["message"])]
    assert failed["logger"] == "symposia.tasks.turns.ending"
    assert failed["level"] == "WARNING"
    assert {name: failed[name] for name in ("session", "turn", "participant", "attempt", "agent")} == {
        "session": job.id,
        "turn": 1,
        "participant": "ann",
        "attempt": 1,
        "agent": "moody",
    }
    assert str(failed["message"]).endswith(mood(1))
    assert str(failed["exception"]).endswith("RuntimeError: mood 1")
    ended = until(
        lambda: [it for it in lines_of(worker) if it.get("task") == "symposia.turn" and it.get("turn") == 2],
        what="Celery's lines of turn 2",
    )
    assert {(it["session"], it["participant"]) for it in ended} == {(job.id, "bob")}


@pytest.mark.long
def test_flower_writes_json_too(installation):
    settings = {
        "redis_url": installation.redis_url,
        "data_dir": str(installation.folder),
        "log_format": "json",
    }
    server = FlowerServer(installation.folder, settings).start()
    try:
        until(lambda: "Registered tasks" in server.log(), what="its log")
    finally:
        server.stop()
    log = server.log()
    lines = [json.loads(line) for line in log[log.index("{") :].splitlines()]
    assert any("Visit me at" in str(it["message"]) for it in lines)
    assert all({"time", "level", "logger", "message"} <= it.keys() for it in lines)


@pytest.mark.long
@pytest.mark.worker_needs("own app")
def test_libraries_are_quiet_in_the_log_of_a_worker(installation, monkeypatch):
    monkeypatch.setenv("SYMPOSIA_ARCHIVE", "true")
    worker = installation.start_worker()
    job = installation.submit("round_robin", {"ann": "say"}, stop=MaxTurns(1))
    assert result_of(job).reason == "max_turns"
    until(lambda: not wrong_keys(installation.redis_url), what="the session is archived")
    assert "alembic" not in worker.log()
