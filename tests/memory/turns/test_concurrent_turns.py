"""The service of learned values with several services in a room and overlapping sessions."""

from __future__ import annotations

from typing import Any

import pytest

from sessions.by_hand import ByHand
from symposia.jobs.collab import CollabJob
from symposia.tasks.runtime.runtime import Boundary

PAYMENT = {"amount": 5000, "recipient": "+254712345678"}
TRIP = {"from": "Nairobi", "to": "London"}


def opened(by_hand: ByHand, *learned: dict[str, Any], **how: Any) -> CollabJob:
    """Open a session with an agent that learns these values turn by turn, and then prints its view."""
    replies = [*({"say": "noted: {memory}", "learned": it} for it in learned), "{memory}"]
    desk = {"agent": "echo", "parameters": {"replies": replies}}
    return by_hand.open("desk", agents={"desk": desk}, turns=len(replies), user_id=1, room_id="r", **how)


def kept(by_hand: ByHand, service: str) -> dict[str, Any]:
    """What is remembered for a service."""
    context = by_hand.client.memory.export(1, "r", by=1)["context"]
    parameters = context["services"].get(service, {"parameters": {}})["parameters"]
    return {name: it["value"] for name, it in parameters.items()}


@pytest.mark.leaves_keys
def test_first_turn_learns_for_its_service(by_hand):
    by_hand.client.memory.store(1, "r", PAYMENT, service="payment")
    job = opened(by_hand, {"parameters": {"max_price": 90}}, service="travel", said=TRIP)
    assert by_hand.turn(job, 1) == "committed"
    assert kept(by_hand, "travel") == {**TRIP, "max_price": 90}
    assert kept(by_hand, "payment") == PAYMENT


@pytest.mark.leaves_keys
def test_values_belong_to_the_service_of_their_turn(by_hand, tmp_path, redis_url):
    other = ByHand.on(redis_url, tmp_path)
    early = opened(other, {})
    other.turn(early, 1)  # this process has seen an empty room
    by_hand.client.memory.store(1, "r", TRIP, service="travel")
    job = opened(by_hand, {"parameters": {"max_price": 90}}, said={"cabin_class": "first"})
    with pytest.raises(KeyboardInterrupt):
        by_hand.turn(job, 1, fault_hook=_gone_after_commit)
    other.plan(job)
    assert kept(by_hand, "travel") == {**TRIP, "cabin_class": "first", "max_price": 90}


@pytest.mark.leaves_keys
def test_session_service_outlives_a_switch_in_a_turn(by_hand):
    by_hand.client.memory.store(1, "r", TRIP, service="travel")
    job = opened(
        by_hand, {"service": "payment", "parameters": PAYMENT}, {}, said={"return_date": "2026-02-20"}
    )
    by_hand.turn(job, 1)
    by_hand.turn(job, 2)
    assert kept(by_hand, "payment") == PAYMENT
    assert kept(by_hand, "travel") == {**TRIP, "return_date": "2026-02-20"}
    assert "return_date" not in list(job.messages())[1].content


@pytest.mark.leaves_keys
def test_session_sees_only_its_own_service(by_hand):
    travel = opened(by_hand, {}, {"parameters": {"max_price": 90}}, service="travel", said=TRIP)
    by_hand.turn(travel, 1)
    payment = opened(by_hand, {}, service="payment", said=PAYMENT)
    by_hand.turn(payment, 1)
    by_hand.turn(travel, 2)
    assert "+254712345678" not in list(travel.messages())[1].content
    assert kept(by_hand, "travel") == {**TRIP, "max_price": 90}
    assert kept(by_hand, "payment") == PAYMENT


def _gone_after_commit(crossed: Boundary, session: str, turn: int) -> None:
    if crossed is Boundary.AFTER_COMMIT:
        raise KeyboardInterrupt
