"""Workers die, sessions are suspended and cancelled: the memory holds what was written, once."""

from __future__ import annotations

import pytest

from symposia.models.protocol.collab import CollabStatus
from symposia.tasks.runtime.runtime import Boundary

FIRST = {"from": "Nairobi", "to": "London", "departure_date": "2026-02-10"}


class Killed(BaseException):
    """The worker is gone."""


def dying_at(boundary: Boundary):
    def crossing(crossed: Boundary, session: str, turn: int) -> None:
        if crossed is boundary:
            raise Killed

    return crossing


def remembered(stepper, user: int) -> tuple[dict, int]:
    stored = stepper.client.memory.get(user, "r")
    return stored.get("parameters", {}), stored.get("metadata", {}).get("message_count", 0)


def test_crash_before_the_memory_write_is_harmless(stepper):
    job = stepper.open("parser", turns=2, user_id=1, room_id="r")
    with pytest.raises(Killed):
        stepper.turn(job, 1, fault_hook=dying_at(Boundary.AFTER_COMMIT))
    assert [message.content for message in job.messages()] == [
        "Find me flights from Nairobi to London next week"
    ]
    assert remembered(stepper, 1) == ({}, 0)
    stepper.plan(job)  # as the sweep has somebody do
    assert remembered(stepper, 1) == (FIRST, 1)
    assert stepper.turn(job, 2) == "committed"
    assert remembered(stepper, 1) == ({**FIRST, "return_date": "2026-02-20"}, 2)
    assert job.status() is CollabStatus.COMPLETED


@pytest.mark.leaves_keys
def test_worker_dying_before_commit_leaves_no_memory(stepper):
    job = stepper.open("parser", turns=2, user_id=1, room_id="r")
    with pytest.raises(Killed):
        stepper.turn(job, 1, fault_hook=dying_at(Boundary.BEFORE_COMMIT))
    stepper.plan(job)
    assert remembered(stepper, 1) == ({}, 0)


@pytest.mark.leaves_keys
def test_redelivered_turn_is_remembered_once(stepper):
    job = stepper.open("parser", turns=3, user_id=1, room_id="r")
    assert stepper.turn(job, 1) == "committed"
    assert stepper.turn(job, 1) == "done"
    stepper.plan(job)
    assert remembered(stepper, 1) == (FIRST, 1)


@pytest.mark.leaves_keys
def test_held_output_is_remembered_when_written(stepper):
    job = stepper.open("parser", turns=3, user_id=1, room_id="r")

    def suspending(crossed: Boundary, session: str, turn: int) -> None:
        if crossed is Boundary.SPEAKING:
            job.suspend()

    assert stepper.turn(job, 1, fault_hook=suspending) == "held"
    stepper.plan(job)
    assert remembered(stepper, 1) == ({}, 0)
    job.resume()
    stepper.plan(job)
    assert remembered(stepper, 1) == (FIRST, 1)


def test_cancelled_output_is_not_remembered(stepper):
    job = stepper.open("parser", turns=3, user_id=1, room_id="r")

    def suspending(crossed: Boundary, session: str, turn: int) -> None:
        if crossed is Boundary.SPEAKING:
            job.suspend()

    stepper.turn(job, 1, fault_hook=suspending)
    job.cancel()
    stepper.plan(job)
    assert remembered(stepper, 1) == ({}, 0)


def test_value_forgotten_during_a_turn_stays_forgotten(stepper):
    memory = stepper.client.memory
    memory.store(1, "r", {"from": "Mombasa", "to": "Oslo"}, service="travel")
    job = stepper.open("parser", turns=1, user_id=1, room_id="r")

    def forgetting(crossed: Boundary, session: str, turn: int) -> None:
        if crossed is Boundary.SPEAKING:
            memory.forget(1, "r", "from")

    assert stepper.turn(job, 1, fault_hook=forgetting) == "committed"
    assert memory.get(1, "r")["parameters"] == {"to": "London", "departure_date": "2026-02-10"}
    memory.forget_all(1, "r")
    stepper.plan(job)
    assert memory.get(1, "r") == {}


def test_memory_expired_during_a_turn_starts_empty(stepper):
    memory = stepper.client.memory
    memory.store(1, "r", {"to": "Oslo", "cabin_class": "first"}, service="travel")
    job = stepper.open("parser", turns=1, user_id=1, room_id="r")

    def expiring(crossed: Boundary, session: str, turn: int) -> None:
        if crossed is Boundary.SPEAKING:
            memory.kept.client.delete("dialog:1:r")

    stepper.turn(job, 1, fault_hook=expiring)
    assert remembered(stepper, 1) == (FIRST, 1)
