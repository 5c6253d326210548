"""Suspend, resume, stop and cancel, while turns are in flight on a real worker."""

from __future__ import annotations

import pytest

from live import result_of, until
from scaling import patient
from symposia import AsyncClient
from symposia.models.errors import IllegalTransition, SessionConflict
from symposia.models.protocol.events import MAPEventType
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.models.text.ids import format_timestamp


@pytest.fixture
def gated_job(shared):
    """A session whose second turn waits at a gate."""
    gate = shared.folder / "gate"
    job = shared.submit(
        "round_robin",
        {"ann": "gated", "bob": "gated"},
        stop=MaxTurns(4),
        parameters={"gate": str(gate), "gate_turn": 2},
    )
    until(lambda: [c for c in shared.calls() if c["turn"] == 2], what="turn 2 is being spoken")
    return job, gate


def test_output_while_suspended_is_written_on_resume(shared, gated_job, checked):
    job, gate = gated_job
    job.suspend()
    assert (job.status(), job.dialog().status) == ("suspended", "paused")
    gate.touch()
    until(lambda: job.state().records[2].status == "held", what="the commit is held")
    assert len(list(job.messages())) == 1

    job.resume()
    result = result_of(job)
    assert [m.turn_number for m in result.dialog.messages] == [1, 2, 3, 4]
    assert result.dialog.status == "completed"
    checked(job, result)


def test_output_after_cancel_is_dropped_on_record(shared, gated_job, checked):
    job, gate = gated_job
    job.cancel("changed our minds")
    gate.touch()
    result = result_of(job)
    assert (result.collab.status, result.dialog.status, result.reason) == (
        "cancelled",
        "cancelled",
        "changed our minds",
    )
    until(lambda: "turn.dropped" in [e.event_type for e in job.collab().events], what="the drop is recorded")
    assert len(list(job.messages())) == 1
    with pytest.raises(
        IllegalTransition, match=r"session has already ended \(cancelled\) and cannot be suspended"
    ):
        job.suspend()
    checked(job, result)


def test_cancelled_session_is_active_in_between(shared, gated_job, checked):
    job, gate = gated_job
    job.suspend(by="lena")
    job.cancel()
    gate.touch()
    moves = [e.event_type for e in job.collab().events if e.event_type.startswith("session.")]
    assert moves[-3:] == ["session.suspended", "session.active", "session.cancelled"]
    actors = [e.data.get("by") for e in job.collab().events if e.event_type.startswith("session.")]
    assert actors[-3:] == ["lena", None, "user"]
    checked(job, result_of(job))


def test_stop_lets_the_running_turn_finish(shared, gated_job, checked):
    job, gate = gated_job
    job.stop()
    gate.touch()
    result = result_of(job)
    assert (result.collab.status, result.reason, result.turns) == ("completed", "stop_requested", 2)
    checked(job, result)


def test_turn_state_names_the_speaker(shared, gated_job):
    job, gate = gated_job
    state = job.turn_state()
    assert (state.current_turn_holder, state.turn_order, state.turn_index) == ("bob", ("ann", "bob"), 1)
    gate.touch()
    result_of(job)


def test_ended_turn_state_names_the_last_speaker(shared, checked):
    job = shared.submit("round_robin", {"ann": "say", "bob": "say", "cyd": "say"}, stop=MaxTurns(5))
    result_of(job)
    state = job.turn_state()
    assert (state.current_turn_holder, state.turn_index) == ("bob", 1)


def test_cancelled_turn_state_names_the_last_speaker(gated_job):
    job, gate = gated_job
    job.cancel()
    gate.touch()
    state = job.turn_state()
    given = next(e for e in job.events() if e.event_type is MAPEventType.TURN_DISPATCHED)
    assert (state.current_turn_holder, state.turn_index) == ("ann", 0)
    assert state.turn_started_at == format_timestamp(given.timestamp)


@pytest.mark.worker_needs("slots")
def test_turn_state_omits_dropped_turns(shared, checked):
    gate = shared.folder / "gate"
    job = shared.submit(
        "broadcast",
        {"ann": "gated", "bob": "say", "cyd": "say"},
        options={"quorum": 2},
        parameters={"gate": str(gate), "gate_turn": 1},
    )
    result = result_of(job)
    gate.touch()
    assert {m.speaker for m in result.dialog.messages} == {"bob", "cyd"}
    assert job.turn_state().current_turn_holder in {"bob", "cyd"}
    checked(job, result)


def test_follower_sees_every_message_when_written(shared, gated_job):
    job, gate = gated_job
    seen = []
    for message in job.messages(follow=True):
        seen.append(message.content)
        if len(seen) == 1:
            gate.touch()
    assert seen == [m.content for m in job.messages()]
    assert len(seen) == 4


async def _follow(job):
    return [event.event_type async for event in job.events(follow=True)]


def test_asyncio_followers_and_results_are_the_same(shared, gated_job):
    import asyncio

    job, gate = gated_job
    gate.touch()

    async def both():
        async with AsyncClient(shared.client.settings) as client:
            found = await client.get_job(job.id)
            return await asyncio.gather(_follow(found), found.result(timeout=patient(20)))

    events, result = asyncio.run(both())
    assert events == [event.event_type for event in job.events()]
    assert result == result_of(job)


def test_collab_submitted_twice_is_one_session(shared):
    from symposia import Collab, Participant

    collab = Collab(
        title="t", purpose="p", mode="pair", participants=[Participant(participant_id=n) for n in "ab"]
    )
    first = shared.client.submit(collab, agents={"a": "say", "b": "say"}, stop=MaxTurns(2))
    second = shared.client.submit(collab, agents={"a": "say", "b": "say"}, stop=MaxTurns(2))
    assert first.id == second.id
    assert result_of(first).turns == 2
    with pytest.raises(SessionConflict):
        shared.client.submit(collab, agents={"a": "say", "b": "say"}, stop=MaxTurns(3))
