"""A turn whose agent this worker does not know, seen from this worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sessions.by_hand import ByHand
from symposia.jobs.collab import CollabJob
from symposia.models.sessions.options import FailurePolicy
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect


@pytest.fixture
def hand(tmp_path, redis_url: str) -> ByHand:
    return ByHand.on(redis_url, tmp_path)


@pytest.fixture
def book(redis_url: str) -> Iterator[WorkerPresence]:
    with connect(redis_url) as client:
        yield WorkerPresence(client)


def opened(hand: ByHand) -> CollabJob:
    return hand.open("coder", turns=1, policy=FailurePolicy(attempts=1))


def test_turn_is_left_to_a_worker_with_the_agent(hand, book):
    job = opened(hand)
    book.announce("w1@elsewhere", ["coder"])
    assert hand.turn(job, 1) == "deferred"
    record = job.state().records[1]
    assert (record.status, record.failures, record.grants) == ("planned", 0, 0)


def test_turn_of_an_unknown_agent_fails(hand, book):
    job = opened(hand)
    book.announce("w1@elsewhere", ["echo"])
    hand.turn(job, 1)
    assert job.state().detail.startswith("coder: agent: must be a registered agent: ")


def test_missing_worker_is_not_awaited_forever(hand, book, monkeypatch):
    job = opened(hand)
    book.announce("w1@elsewhere", ["coder"])
    monkeypatch.setattr("symposia.tasks.turns.admission.OTHER_WORKER_LIMIT_MS", 0)
    hand.turn(job, 1)
    assert (job.status(), job.state().reason) == ("cancelled", "failed")
