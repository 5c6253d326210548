"""Agents that fail: again, skipped, substituted, or the end of the session."""

from __future__ import annotations

import pytest

import live
from live import location_of, mood, result_of, until
from stub_agents import live as live_agents
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns

FAST = {"attempts": 2, "backoff_s": 0.05}


def outcomes(job):
    return [
        (e.payload["participant_id"], e.payload["result"]["outcome"])
        for e in job.events()
        if e.event_type == "MAPTurnCompleted"
    ]


def test_a_failed_turn_is_tried_again(shared, checked):
    job = shared.submit(
        "pair", {"ann": "moody", "bob": "say"}, stop=MaxTurns(2), policy=FAST, parameters={"fails": 1}
    )
    result = result_of(job)
    assert outcomes(job) == [("ann", "failed"), ("ann", "message"), ("bob", "message")]
    checked(job, result)


def test_last_failed_attempt_aborts_with_a_reason(shared, checked):
    job = shared.submit(
        "pair", {"ann": "moody", "bob": "say"}, stop=MaxTurns(2), policy=FAST, parameters={"fails": 9}
    )
    result = result_of(job)
    assert (result.ok, result.reason, result.collab.status) == (False, "failed", "cancelled")
    assert "ann" in result.detail
    assert "mood 2" in result.detail
    checked(job, result)


def test_exception_is_logged_and_journalled(installation):
    worker = installation.start_worker()
    job = installation.submit(
        "pair", {"ann": "moody", "bob": "say"}, stop=MaxTurns(2), policy=FAST, parameters={"fails": 9}
    )
    result_of(job)
    location = location_of(live_agents, "RuntimeError(f")
    failures = [event.data for event in job.collab().events if event.event_type == "turn.failed"]
    assert [(it["attempt"], it["type"], it["at"], it["error"]) for it in failures] == [
        (n, "RuntimeError", location, mood(n)) for n in (1, 2)
    ]
    assert worker.log().count("Traceback (most recent call last)") == 2
    assert f'stub_agents/live.py", line {location.partition(":")[2]}, in moody' in worker.log()
    assert str(live.SUPPORT) not in str(failures), "no path of the machine"


def test_participant_that_cannot_answer_is_skipped(shared, checked):
    job = shared.submit(
        "round_robin",
        {"ann": "moody", "bob": "say"},
        stop=MaxTurns(4),
        policies={"ann": {**FAST, "then": "skip"}},
        parameters={"fails": 9},
    )
    result = result_of(job)
    assert [m.speaker for m in result.dialog.messages] == ["bob", "bob"]
    assert [pair for pair in outcomes(job) if pair[1] != "failed"] == [
        ("ann", "skipped"),
        ("bob", "message"),
    ] * 2
    checked(job, result)


@pytest.mark.parametrize("mode", ["round_robin", "broadcast"])
def test_session_of_skipped_turns_is_cancelled(shared, checked, mode):
    job = shared.submit(
        mode,
        {"ann": "moody", "bob": "moody"},
        stop=MaxRounds(1),
        policy={"attempts": 1, "then": "skip"},
        parameters={"fails": 9},
    )
    result = result_of(job)
    assert (result.ok, result.collab.status, result.reason) == (False, "cancelled", "all_turns_failed")
    assert result.detail.startswith("2 of 2 turns failed or were skipped, last: ")
    assert "AgentFailed: " in result.detail or "mood 1" in result.detail
    assert [outcome for _, outcome in outcomes(job)] == ["skipped", "skipped"]
    checked(job, result)


def test_substitute_takes_the_turn(shared, checked):
    job = shared.submit(
        "pair",
        {"ann": "moody", "bob": "say"},
        stop=MaxTurns(2),
        policies={"ann": {**FAST, "then": "substitute", "substitute": "say"}},
        parameters={"fails": 9},
    )
    result = result_of(job)
    assert [m.speaker for m in result.dialog.messages] == ["ann", "bob"]
    checked(job, result)


def test_hanging_agent_is_cancelled_at_its_deadline(shared, checked):
    job = shared.submit(
        "pair",
        {"ann": "gated", "bob": "say"},
        stop=MaxTurns(2),
        policies={"ann": {"attempts": 1, "then": "skip", "turn_timeout_s": 0.5}},
        parameters={"gate": str(shared.folder / "never")},
    )
    result = result_of(job)
    assert outcomes(job) == [("ann", "skipped"), ("bob", "message")]
    checked(job, result)
    (shared.folder / "never").touch()


@pytest.mark.parametrize("agent", ["unspeakable", "misshapen"])
def test_invalid_output_fails_without_retry(shared, checked, agent):
    job = shared.submit("pair", {"ann": agent, "bob": "say"}, stop=MaxTurns(2), policy={"attempts": 1})
    result = result_of(job)
    assert (result.ok, result.reason) == (False, "failed")
    assert len(shared.calls()) == 1
    checked(job, result)


@pytest.mark.long
def test_substitute_gets_its_own_window(shared, checked):
    job = shared.submit(
        "pair",
        {"ann": "blind", "bob": "say"},
        stop=MaxTurns(2),
        messages=["Look."],
        policies={"ann": {"attempts": 10, "backoff_s": 0.01, "then": "substitute", "substitute": "say"}},
    )
    result = result_of(job)
    assert [m.speaker for m in result.dialog.messages] == [None, "ann", "bob"]
    assert shared.calls()[-2]["seen"] == ["Look."]
    checked(job, result)


@pytest.mark.long
def test_unknown_agent_is_found_in_a_changed_agents_file(installation, checked):
    """As when a new agents file is rolled out while sessions wait."""
    file = installation.folder / "agents.toml"
    registry = file.read_text()
    job = installation.client.submit(
        {"title": "t", "purpose": "p", "mode": "round_robin", "participants": [{"participant_id": "say"}]},
        stop=MaxTurns(1),
        policy={"attempts": 1},
    )
    file.write_text("")
    installation.start_worker()
    until(lambda: job.state().awaited_agents == ("say",), what="the turn waits for the agent")
    file.write_text(registry)
    result = result_of(job)
    assert outcomes(job) == [("say", "message")]
    checked(job, result)
