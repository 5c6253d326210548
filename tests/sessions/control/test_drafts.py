"""Drafts on a real worker: nothing runs before `activate`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from live import result_of
from symposia.models.errors import ResultTimeout
from symposia.models.sessions.stop_conditions import Deadline, MaxTurns
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key


def test_draft_is_changed_and_then_started(shared, checked):
    job = shared.submit("round_robin", {"ann": "say", "bob": "say"}, stop=MaxTurns(2), draft=True)
    job.post("Be short.")
    assert (job.status(), list(job.messages())) == ("draft", [])
    assert job.id in {it.id for it in shared.client.each_job()}
    job.activate()
    result = result_of(job)
    assert result.dialog.messages[0].content == "Be short."
    assert result.turns == 2
    checked(job, result)


def test_draft_is_cancelled(shared):
    job = shared.submit("round_robin", {"ann": "say", "bob": "say"}, draft=True)
    job.cancel("changed our minds")
    result = result_of(job)
    assert (result.collab.status, result.reason, result.turns) == ("cancelled", "changed our minds", 0)


def test_draft_is_awaited_and_its_roster_and_deadline_are_those_of_its_start(shared, checked):
    stop = MaxTurns(2) | Deadline(600)
    job = shared.submit("round_robin", {"ann": "say"}, stop=stop, messages=["Hello."], draft=True)
    with pytest.raises(ResultTimeout):
        job.result(timeout=1)
    assert list(job.messages()) == []
    with connect(shared.redis_url) as client:  # it was submitted an hour ago
        client.hincrby(session_key(job.id, "session"), "opened_ms", -3_600_000)
    job.add_participant("bob", "say")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(result_of, job)
        job.activate()
        result = waiting.result()
    assert (result.reason, result.turns) == ("max_turns", 2)
    assert [it.speaker for it in result.dialog.messages] == [None, "ann", "bob"]
    started, assigned = list(job.events())[:2]
    assert started.payload["participant_count"] == 2
    assert [it["participant_id"] for it in assigned.payload["assignments"]] == ["ann", "bob"]
    assert "roster.changed" not in {it.event_type for it in job.collab().events}
    checked(job, result)
