"""Sessions of a tenant with few share a worker with the many of another one."""

from __future__ import annotations

import pytest

from live import result_of, until
from scaling import patient
from symposia.config.celery import QUEUE
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.patches.kept_tasks import SLICE_S
from symposia.state.redis.connect import connect
from symposia.tasks.runtime.lanes import LANES, lane_queue, pick_lane
from symposia.workers.steps.sweep import ANNOUNCE_EVERY_S

FLOOD = 12
TURNS = 3


@pytest.fixture
def busy(installation):
    """A worker with one thread, and more sessions of tenant a than it runs in the test."""
    slow = f'\n[agents.slow]\nkind = "scripted"\nreplies = [{{ say = "ok", delay_s = {1.5 * SLICE_S} }}]\n'
    with (installation.folder / "agents.toml").open("a") as file:
        file.write(slow)
    installation.start_worker(concurrency=1)
    return installation


def submit(installation, tenant: str):
    return installation.submit("round_robin", {"ann": "slow"}, stop=MaxTurns(TURNS), tenant=tenant)


def times(job) -> list[int]:
    return [event.timestamp for event in job.events() if event.event_type == "MAPTurnDispatched"]


def test_turns_of_a_small_tenant_alternate_with_those_of_a_flood(busy):
    flood = [submit(busy, "a") for _ in range(FLOOD)]
    until(lambda: any(job.state().turns for job in flood), what="the flood runs")
    small = submit(busy, "b")
    assert result_of(small).turns == TURNS
    written = sum(job.state().turns for job in flood)
    # Before each message of b at most the one that runs, with the turn that its thread keeps, and one of a's lane.
    assert written <= 4 * (TURNS + 1) < FLOOD * TURNS
