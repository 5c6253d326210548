"""A broker that is away when a turn has been written: one line in the log, and the sweep goes on with the session."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from celery import Celery

from by_hand import ByHand
from ports import own_port
from symposia.models.collab import CollabStatus
from symposia.tasks.graph import BrokerAway, TaskGraph
from symposia.tasks.sweep import sweep


@pytest.fixture
def hand(redis_url: str, tmp_path: Path) -> ByHand:
    """Its Redis answers, its broker does not."""
    nowhere = Celery(broker=f"redis://127.0.0.1:{own_port()}/0", set_as_current=False)
    hand = ByHand.on(redis_url, tmp_path)
    return replace(hand, runtime=replace(hand.runtime, graph=TaskGraph(nowhere)))


def test_a_turn_is_written_and_one_line_says_who_goes_on(
    hand: ByHand, caplog: pytest.LogCaptureFixture
) -> None:
    job = hand.open("echo", "echo2", turns=2, agents={"echo": "echo", "echo2": "echo"})
    caplog.clear()
    with caplog.at_level(logging.WARNING, "symposia"):
        assert hand.turn(job, 1) == "committed"
    (told,) = [it for it in caplog.records if it.name.startswith("symposia")]
    assert told.getMessage().startswith(f"session {job.id} waits for the sweep: the broker does not answer (")
    assert "\n" not in told.getMessage()
    assert told.exc_info is None
    assert hand.turn(job, 2) == "committed"
    assert job.status() is CollabStatus.COMPLETED


def test_the_sweep_gives_up_for_now_instead_of_trying_session_by_session(
    hand: ByHand, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = [hand.open("echo", turns=1, agents={"echo": "echo"}) for _ in range(3)]
    index = hand.runtime.index
    hand = replace(hand, runtime=replace(hand.runtime, limits=replace(hand.runtime.limits, grace_ms=0)))
    for job in jobs:
        index.sooner(job.id, 0)
    caplog.clear()
    with pytest.raises(BrokerAway):
        sweep(hand.runtime)
    assert not [it for it in caplog.records if it.name.startswith("symposia") and it.exc_info]
    for job in jobs:
        assert hand.turn(job, 1) == "committed"
