"""Sessions of a tenant with few share a worker with the many of another one."""

from __future__ import annotations

from itertools import count

import pytest

from live import REGISTRY, result_of, until
from symposia.config.celery import QUEUE
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.patches.kept_tasks import SLICE_S
from symposia.patches.queue_rotation import PERIOD
from symposia.tasks.runtime.lanes import LANES, lane_queue, preferred_lane

FLOOD = 60
TURNS = 3
#: A tenant that would have the lane of the tenant `a` if both were not active.
NEIGHBOUR = next(
    name for name in map(str, count()) if preferred_lane(name, LANES) == preferred_lane("a", LANES)
)


def submit(installation, agent: str = "slow", **options):
    return installation.submit("round_robin", {"ann": agent}, stop=MaxTurns(TURNS), **options)


def begun(job) -> int:
    return sum(event.event_type == "MAPTurnDispatched" for event in job.events())


@pytest.mark.parametrize(
    ("flood", "small", "most"),
    [
        # One turn of the flood runs before each message, and one may run while this test reads the answer.
        ({"tenant": "a"}, {"tenant": "b"}, 2),
        ({"tenant": "a"}, {"tenant": NEIGHBOUR}, 2),
        ({"tenant": "a"}, {"tenant": "a", "priority": "high"}, 2),
        ({}, {"priority": "high"}, 2),
        ({"tenant": "a", "priority": "high"}, {"tenant": "a", "priority": "low"}, PERIOD),
    ],
    ids=["tenant", "same-preferred-lane", "high", "high-without-tenant", "low"],
)
def test_turns_of_a_small_session_alternate_with_those_of_a_flood(installation, flood, small, most):
    slow = f'\n[agents.slow]\nkind = "scripted"\nreplies = [{{ say = "ok", delay_s = {1.5 * SLICE_S} }}]\n'
    (installation.folder / "agents.toml").write_text(REGISTRY + slow)
    installation.start_worker(concurrency=1)
    jobs = [submit(installation, **flood) for _ in range(FLOOD)]
    until(lambda: any(map(begun, jobs)), what="the flood runs")
    before = sum(map(begun, jobs))
    assert result_of(submit(installation, **small)).turns == TURNS
    assert sum(map(begun, jobs)) - before <= most * (TURNS + 1) < FLOOD


def test_lost_message_in_a_lane_is_sent_again(installation):
    """The worker consumes the lanes with Celery's option `-Q`, too."""
    gate, log = installation.folder / "gate", installation.folder / "log"
    installation.start_worker(concurrency=1, options=("-Q", QUEUE))
    parameters = {"gate": str(gate), "gate_turn": 1, "log": str(log)}
    busy = installation.submit(
        "round_robin", {"ann": "gated"}, stop=MaxTurns(1), tenant="a", parameters=parameters
    )
    until(log.exists, what="the worker is busy")
    small = submit(installation, "say", tenant="b")
    redis = installation.client._installation.sessions.workers._client
    assert redis.delete(lane_queue(QUEUE, preferred_lane("b", LANES))) == 1
    gate.touch()
    assert result_of(busy).ok
    assert result_of(small, timeout_s=60).turns == TURNS
