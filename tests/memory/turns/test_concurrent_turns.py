"""The service of learned values with several services in a room and overlapping sessions."""

from __future__ import annotations

from typing import Any

import pytest

from sessions.stepper import Stepper
from symposia.jobs.collab import CollabJob
from symposia.tasks.runtime.runtime import Boundary

PAYMENT = {"amount": 5000, "recipient": "+254712345678"}
TRIP = {"from": "Nairobi", "to": "London"}


def opened(stepper: Stepper, *learned: dict[str, Any], **how: Any) -> CollabJob:
    """Open a session with an agent that learns these values turn by turn, and then prints its view."""
    replies = [*({"say": "noted: {memory}", "learned": it} for it in learned), "{memory}"]
    binding = {"agent": "echo", "parameters": {"replies": replies}}
    return stepper.open("desk", agents={"desk": binding}, turns=len(replies), user_id=1, room_id="r", **how)


def kept(stepper: Stepper, service: str) -> dict[str, Any]:
    """What is remembered for a service."""
    context = stepper.client.memory.export(1, "r", by=1)["context"]
    parameters = context["services"].get(service, {"parameters": {}})["parameters"]
    return {name: it["value"] for name, it in parameters.items()}


@pytest.mark.leaves_keys
def test_first_turn_learns_for_its_service(stepper):
    stepper.client.memory.store(1, "r", PAYMENT, service="payment")
    job = opened(stepper, {"parameters": {"max_price": 90}}, service="travel", said=TRIP)
    assert stepper.turn(job, 1) == "committed"
    assert kept(stepper, "travel") == {**TRIP, "max_price": 90}
    assert kept(stepper, "payment") == PAYMENT


@pytest.mark.leaves_keys
def test_values_belong_to_the_service_of_their_turn(stepper, tmp_path, redis_url):
    other = Stepper.on(redis_url, tmp_path)
    early = opened(other, {})
    other.turn(early, 1)  # this process has seen an empty room
    stepper.client.memory.store(1, "r", TRIP, service="travel")
    job = opened(stepper, {"parameters": {"max_price": 90}}, said={"cabin_class": "first"})
    with pytest.raises(KeyboardInterrupt):
        stepper.turn(job, 1, fault_hook=_gone_after_commit)
    other.plan(job)
    assert kept(stepper, "travel") == {**TRIP, "cabin_class": "first", "max_price": 90}


@pytest.mark.leaves_keys
def test_session_service_outlives_a_switch_in_a_turn(stepper):
    stepper.client.memory.store(1, "r", TRIP, service="travel")
    job = opened(
        stepper, {"service": "payment", "parameters": PAYMENT}, {}, said={"return_date": "2026-02-20"}
    )
    stepper.turn(job, 1)
    stepper.turn(job, 2)
    assert kept(stepper, "payment") == PAYMENT
    assert kept(stepper, "travel") == {**TRIP, "return_date": "2026-02-20"}
    assert "return_date" not in list(job.messages())[1].content


@pytest.mark.leaves_keys
def test_session_sees_only_its_own_service(stepper):
    travel = opened(stepper, {}, {"parameters": {"max_price": 90}}, service="travel", said=TRIP)
    stepper.turn(travel, 1)
    payment = opened(stepper, {}, service="payment", said=PAYMENT)
    stepper.turn(payment, 1)
    stepper.turn(travel, 2)
    assert "+254712345678" not in list(travel.messages())[1].content
    assert kept(stepper, "travel") == {**TRIP, "max_price": 90}
    assert kept(stepper, "payment") == PAYMENT


def _gone_after_commit(crossed: Boundary, session: str, turn: int) -> None:
    if crossed is Boundary.AFTER_COMMIT:
        raise KeyboardInterrupt
