"""What Celery's monitors see of turns: a short result, and failed tasks where a turn failed for good."""

from __future__ import annotations

import pytest
from celery.events.state import State

from live import has_no_message, mood, result_of, until
from servers.remote_system import SECRET, RemoteSystem
from symposia.models.sessions.stop_conditions import MaxTurns

PARTNER = """
[webhooks]
hosts = ["127.0.0.1"]
networks = ["127.0.0.0/8"]
callback_url = "https://symposia.example/replies"

[agents.partner]
kind = "external"
url = "{url}"
secret_env = "PARTNER_SECRET"
"""
ONCE_MORE = {"attempts": 2, "backoff_s": 0.05}


def tasks_of(monitor, job):
    """The turns of a session in their present states, by number, in the order of their attempts: state and text.

    Tasks that were only sent, received or started are left out.
    """
    state = State()
    for event in sorted(monitor.heard, key=lambda it: it["timestamp"]):
        state.event(dict(event))
    turns: dict[int, list[tuple[str, str]]] = {}
    for task in sorted(state.tasks.values(), key=lambda it: it.timestamp or 0):
        is_known = task.state not in ("PENDING", "RECEIVED", "STARTED")
        if task.root_id == job.id and is_known and "turn=" in (task.kwargs or ""):
            number = int(task.kwargs.partition("turn=")[2].split()[0])
            turns.setdefault(number, []).append((task.state, task.exception or task.result))
    return turns


def waits(monitor, job, count):
    def all_told():
        told = tasks_of(monitor, job)
        return sum(map(len, told.values())) >= count and told

    return until(all_told, what=f"{count} turns of the session are told")


@pytest.mark.parametrize("pool", ["threads", pytest.param("processes", marks=pytest.mark.long)])
def test_a_turn_is_a_task_with_a_short_result(installation, monitor, pool):
    worker = installation.start_worker(options=("--pool", pool))
    job = installation.submit(
        "round_robin",
        {"ann": "say", "bob": "moody"},
        stop=MaxTurns(2),
        policies={"bob": {**ONCE_MORE, "then": "skip"}},
        parameters={"fails": 9},
    )
    result_of(job)
    spoken = next(iter(job.messages())).content
    told = waits(monitor, job, 3)
    assert told[1] == [("SUCCESS", repr(f"said {len(spoken)} characters"))]
    assert told[2] == [
        ("RETRY", f"TurnRetried({f'failed: {mood(1)}; attempt 1 of 2, retried in 0.05 s'!r})"),
        ("FAILURE", f"TurnFailed({f'failed: {mood(2)}; the turn is skipped'!r})"),
    ]
    assert "raised expected: TurnFailed" in worker.log()
    assert worker.log().count("Traceback") == 2, "those of the agent"
    redis = installation.client._installation.sessions.connections.redis
    until(lambda: not redis.llen("symposia") and has_no_message(redis), what="no worker has a message")


@pytest.mark.long
def test_session_ending_failure_is_a_failed_task(installation, monitor):
    installation.start_worker()
    job = installation.submit(
        "pair", {"ann": "moody", "bob": "say"}, policy={"attempts": 1}, parameters={"fails": 9}
    )
    assert result_of(job).reason == "failed"
    ((state, text),) = waits(monitor, job, 1)[1]
    assert (state, f"failed: {mood(1)}; the session fails" in text) == ("FAILURE", True)


def waits_for_state(monitor, job, number, state):
    def reached():
        told = tasks_of(monitor, job).get(number)
        return told if told and told[-1][0] == state else None

    return until(reached, what=f"turn {number} is {state}")


def test_parked_turn_is_shown_as_waiting(installation, monitor):
    worker = installation.start_worker()
    job = installation.submit("round_robin", {"ann": "human"}, stop=MaxTurns(1))
    assert waits_for_state(monitor, job, 1, "AWAITING_HUMAN") == [
        ("AWAITING_HUMAN", repr("parked: waiting for ann"))
    ]
    job.reply("ann", "Here I am.")
    result_of(job)
    assert waits_for_state(monitor, job, 1, "SUCCESS") == [("SUCCESS", repr("answered by ann"))]
    until(lambda: "'session completed: max_turns'" in worker.log(), what="the plan is told")
    assert "'planned turn 1'" in worker.log()
    assert "parked: waiting for ann" in worker.log()
    senders = {(event["type"], event["hostname"]) for event in monitor.heard}
    named = {name for kind, name in senders if kind.startswith("task-") and kind != "task-sent"}
    assert named == {"w1@live"}, f"no other process appears as a worker: {senders}"


@pytest.mark.parametrize("way", ["cancel", "stop"])
@pytest.mark.long
def test_parked_turn_of_an_ended_session_is_cancelled(installation, monitor, way):
    installation.start_worker()
    job = installation.submit("round_robin", {"ann": "human"}, stop=MaxTurns(1))
    waits_for_state(monitor, job, 1, "AWAITING_HUMAN")
    getattr(job, way)()
    result_of(job)
    waits_for_state(monitor, job, 1, "CANCELLED")


@pytest.mark.long
def test_a_parked_turn_without_an_answer_in_time_ends(installation, monitor):
    installation.start_worker()
    seat = {"agent": "human", "wait": {"deadline_s": 0.5, "then": "skip"}}
    job = installation.submit("round_robin", {"ann": seat}, stop=MaxTurns(1))
    result_of(job)
    told = waits(monitor, job, 2)[1]
    assert ("SUCCESS", repr("no answer in time")) in told
    until(lambda: not [it for it in tasks_of(monitor, job)[1] if it[0] == "AWAITING_HUMAN"], what="it ended")


@pytest.mark.long
def test_turn_waiting_for_a_remote_system_is_shown(installation, monitor, monkeypatch):
    monkeypatch.setenv("PARTNER_SECRET", SECRET)
    system = RemoteSystem()
    installation.agents_file = installation.folder / "partner.toml"
    installation.agents_file.write_text(PARTNER.replace("{url}", system.url))
    installation.start_worker()
    job = installation.submit("round_robin", {"ann": "partner"}, stop=MaxTurns(1))
    (told,) = waits_for_state(monitor, job, 1, "AWAITING_REMOTE")
    assert told[1] == repr("parked: webhook delivered, waiting for ann")
    job.reply("ann", "Here I am.")
    waits_for_state(monitor, job, 1, "SUCCESS")
    system.close()
