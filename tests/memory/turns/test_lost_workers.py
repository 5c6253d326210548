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


def remembered(by_hand, user: int) -> tuple[dict, int]:
    stored = by_hand.client.memory.get(user, "r")
    return stored.get("parameters", {}), stored.get("metadata", {}).get("message_count", 0)


def test_crash_before_the_memory_write_is_harmless(by_hand):
    job = by_hand.open("parser", turns=2, user_id=1, room_id="r")
    with pytest.raises(Killed):
        by_hand.turn(job, 1, fault_hook=dying_at(Boundary.AFTER_COMMIT))
    assert [message.content for message in job.messages()] == [
        "Find me flights from Nairobi to London next week"
    ]
    assert remembered(by_hand, 1) == ({}, 0)
    by_hand.plan(job)  # as the sweep has somebody do
    assert remembered(by_hand, 1) == (FIRST, 1)
    assert by_hand.turn(job, 2) == "committed"
    assert remembered(by_hand, 1) == ({**FIRST, "return_date": "2026-02-20"}, 2)
    assert job.status() is CollabStatus.COMPLETED


@pytest.mark.leaves_keys
def test_worker_dying_before_commit_leaves_no_memory(by_hand):
    job = by_hand.open("parser", turns=2, user_id=1, room_id="r")
    with pytest.raises(Killed):
        by_hand.turn(job, 1, fault_hook=dying_at(Boundary.BEFORE_COMMIT))
    by_hand.plan(job)
    assert remembered(by_hand, 1) == ({}, 0)


@pytest.mark.leaves_keys
def test_redelivered_turn_is_remembered_once(by_hand):
    job = by_hand.open("parser", turns=3, user_id=1, room_id="r")
    assert by_hand.turn(job, 1) == "committed"
    assert by_hand.turn(job, 1) == "done"
    by_hand.plan(job)
    assert remembered(by_hand, 1) == (FIRST, 1)


@pytest.mark.leaves_keys
def test_held_output_is_remembered_when_written(by_hand):
    job = by_hand.open("parser", turns=3, user_id=1, room_id="r")

    def suspending(crossed: Boundary, session: str, turn: int) -> None:
        if crossed is Boundary.SPEAKING:
            job.suspend()

    assert by_hand.turn(job, 1, fault_hook=suspending) == "held"
    by_hand.plan(job)
    assert remembered(by_hand, 1) == ({}, 0)
    job.resume()
    by_hand.plan(job)
    assert remembered(by_hand, 1) == (FIRST, 1)


def test_cancelled_output_is_not_remembered(by_hand):
    job = by_hand.open("parser", turns=3, user_id=1, room_id="r")

    def suspending(crossed: Boundary, session: str, turn: int) -> None:
        if crossed is Boundary.SPEAKING:
            job.suspend()

    by_hand.turn(job, 1, fault_hook=suspending)
    job.cancel()
    by_hand.plan(job)
    assert remembered(by_hand, 1) == ({}, 0)


def test_value_forgotten_during_a_turn_stays_forgotten(by_hand):
    memory = by_hand.client.memory
    memory.store(1, "r", {"from": "Mombasa", "to": "Oslo"}, service="travel")
    job = by_hand.open("parser", turns=1, user_id=1, room_id="r")

    def forgetting(crossed: Boundary, session: str, turn: int) -> None:
        if crossed is Boundary.SPEAKING:
            memory.forget(1, "r", "from")

    assert by_hand.turn(job, 1, fault_hook=forgetting) == "committed"
    assert memory.get(1, "r")["parameters"] == {"to": "London", "departure_date": "2026-02-10"}
    memory.forget_all(1, "r")
    by_hand.plan(job)
    assert memory.get(1, "r") == {}


def test_memory_expired_during_a_turn_starts_empty(by_hand):
    memory = by_hand.client.memory
    memory.store(1, "r", {"to": "Oslo", "cabin_class": "first"}, service="travel")
    job = by_hand.open("parser", turns=1, user_id=1, room_id="r")

    def expiring(crossed: Boundary, session: str, turn: int) -> None:
        if crossed is Boundary.SPEAKING:
            memory.kept.client.delete("dialog:1:r")

    by_hand.turn(job, 1, fault_hook=expiring)
    assert remembered(by_hand, 1) == (FIRST, 1)
