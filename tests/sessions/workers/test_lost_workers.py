"""Workers that die or freeze in the middle of a turn."""

from __future__ import annotations

from collections import Counter

import pytest

from live import result_of, until
from symposia.models.sessions.stop_conditions import MaxTurns


@pytest.mark.long
def test_session_survives_a_killed_worker(installation, checked):
    gate = installation.folder / "gate"
    first = installation.start_worker()
    job = installation.submit(
        "round_robin",
        {"ann": "gated", "bob": "gated"},
        stop=MaxTurns(6),
        parameters={"gate": str(gate), "gate_turn": 3},
    )
    until(lambda: [c for c in installation.calls() if c["turn"] == 3], what="turn 3 is being spoken")
    installation.start_worker()
    first.kill()
    gate.touch()
    result = result_of(job, timeout_s=installation.lease_s + 10)

    assert (result.ok, result.turns) == (True, 6)
    assert [m.speaker for m in result.dialog.messages] == ["ann", "bob"] * 3
    outcomes = Counter(
        e.payload["result"]["outcome"] for e in job.events() if e.event_type == "MAPTurnCompleted"
    )
    assert outcomes == {"message": 6, "expired": 1}
    checked(job, result)


@pytest.mark.long
def test_frozen_worker_cannot_write_late(installation, checked):
    gate = installation.folder / "gate"
    frozen = installation.start_worker(concurrency=1)
    job = installation.submit(
        "round_robin",
        {"ann": "gated", "bob": "gated"},
        stop=MaxTurns(4),
        parameters={"gate": str(gate), "gate_turn": 2},
    )
    until(lambda: [c for c in installation.calls() if c["turn"] == 2], what="turn 2 is being spoken")
    installation.start_worker(concurrency=1)
    frozen.freeze()
    until(
        lambda: [c for c in installation.calls() if c["turn"] == 2 and c["attempt"] == 2],
        what="turn 2 is taken over",
    )
    gate.touch()
    result = result_of(job)
    assert [m.content for m in result.dialog.messages] == [
        "ann speaks in turn 1",
        "bob speaks in turn 2",
        "ann speaks in turn 3",
        "bob speaks in turn 4",
    ]
    frozen.thaw()
    # Whichever comes first when it wakes: its commit is refused on record, or its renewal is.
    until(
        lambda: "turn.refused" in [e.event_type for e in job.collab().events] or "lease lost" in frozen.log(),
        what="the late writer is refused",
    )
    assert len(list(job.messages())) == 4
    checked(job, result)


@pytest.mark.long
def test_late_writer_is_refused_on_record(installation, checked):
    gate, second = installation.folder / "gate", installation.folder / "second"
    frozen = installation.start_worker(concurrency=1)
    job = installation.submit(
        "pair",
        {"ann": "gated", "bob": "say"},
        stop=MaxTurns(2),
        parameters={"gate": str(gate), "gate_turn": 1},
    )
    until(lambda: [c for c in installation.calls() if c["turn"] == 1], what="turn 1 is being spoken")
    frozen.freeze()
    key = f"symposia:{{{job.id}}}:lock:floor"
    redis = installation.client._installation.sessions.workers._client
    until(lambda: not redis.exists(key), timeout_s=15, what="the lease has run out")
    # The gate opens first: the frozen agent answers as soon as it wakes, before anyone renews or takes over.
    gate.touch()
    frozen.thaw()
    until(
        lambda: (
            [e for e in job.events() if e.event_type == "MAPConflictDetected"] or "lease lost" in frozen.log()
        ),
        what="the late commit is refused",
    )
    installation.start_worker()
    result = result_of(job)
    assert [m.speaker for m in result.dialog.messages] == ["ann", "bob"]
    checked(job, result)
    second.touch()


def test_turn_with_a_lost_message_is_dispatched_again(installation, checked):
    client = installation.client
    job = installation.submit("round_robin", {"ann": "say", "bob": "say"}, stop=MaxTurns(4))
    assert client._installation.sessions.workers._client.delete("symposia") == 1, (
        "the start message was in the queue"
    )
    installation.start_worker()
    result = result_of(job)
    assert result.turns == 4
    checked(job, result)
