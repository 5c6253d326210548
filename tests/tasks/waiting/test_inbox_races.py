"""A question is in the inbox while it is open, despite concurrent readers and parking."""

from __future__ import annotations

import dataclasses

import pytest

from live import result_of
from symposia.state.redis.keys import lock_key
from symposia.state.turns.parked import ParkedTurnStore
from symposia.tasks.runtime.runtime import Boundary


@pytest.fixture
def job(installation):
    """A session in which the first to speak is a person; nothing has been delivered."""
    return installation.submit("round_robin", {"ann": "noop"}, people=["ben"], stop={"max_turns": 2})


def test_inbox_read_while_parking_keeps_the_question(installation, job, monkeypatch):
    looks, park = [], ParkedTurnStore.park

    def park_while_somebody_looks(turns, *args, **more):
        looks.append(installation.client.inbox("ben"))
        return park(turns, *args, **more)

    monkeypatch.setattr(ParkedTurnStore, "park", park_while_somebody_looks)
    installation.work()
    assert looks == [[]]
    assert [question.turn_number for question in installation.client.inbox("ben")] == [2]
    job.reply("ben", "here I am")
    installation.work()
    assert result_of(job).turns == 2
    assert installation.client.inbox("ben") == []


def test_late_parking_keeps_the_first_question(installation, job):
    installation.deliver()
    installation.deliver()
    (call,) = installation.queue.waiting
    words = []

    def another_is_faster(boundary, session, number):
        if boundary is Boundary.AFTER_BEGIN and installation.queue.waiting:
            installation.runtime.store.client.delete(lock_key(session, "floor"))  # the lease has run out
            words.append(installation.deliver())

    installation.queue.waiting.append(call)
    installation.runtime = dataclasses.replace(installation.runtime, fault_hook=another_is_faster)
    words.append(installation.deliver())
    assert words == ["parked", "stale"]
    assert [question.turn_number for question in installation.client.inbox("ben")] == [2]
    job.reply("ben", "here I am")
    installation.work()
    assert result_of(job).turns == 2
