"""Sessions of a tenant with few share a worker with the many of another one."""

from __future__ import annotations

from live import REGISTRY, result_of, until
from symposia.config.celery import QUEUE
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.patches.kept_tasks import SLICE_S
from symposia.tasks.runtime.lanes import LANES, lane_queue, pick_lane

FLOOD = 12
TURNS = 3


def submit(installation, tenant: str, agent: str = "slow"):
    return installation.submit("round_robin", {"ann": agent}, stop=MaxTurns(TURNS), tenant=tenant)


def begun(job) -> int:
    return sum(event.event_type == "MAPTurnDispatched" for event in job.events())


def test_turns_of_a_small_tenant_alternate_with_those_of_a_flood(installation):
    slow = f'\n[agents.slow]\nkind = "scripted"\nreplies = [{{ say = "ok", delay_s = {1.5 * SLICE_S} }}]\n'
    (installation.folder / "agents.toml").write_text(REGISTRY + slow)
    installation.start_worker(concurrency=1)
    flood = [submit(installation, "a") for _ in range(FLOOD)]
    until(lambda: any(map(begun, flood)), what="the flood runs")
    before = sum(map(begun, flood))
    small = submit(installation, "b")
    assert result_of(small).turns == TURNS
    # One turn of the flood runs before each message of b, and one may run while this test reads the answer.
    assert sum(map(begun, flood)) - before <= 2 * (TURNS + 1) < FLOOD


def test_lost_message_in_a_lane_is_sent_again(installation):
    """The worker consumes the lanes with Celery's option `-Q`, too."""
    gate, log = installation.folder / "gate", installation.folder / "log"
    installation.start_worker(concurrency=1, options=("-Q", QUEUE))
    parameters = {"gate": str(gate), "gate_turn": 1, "log": str(log)}
    busy = installation.submit(
        "round_robin", {"ann": "gated"}, stop=MaxTurns(1), tenant="a", parameters=parameters
    )
    until(log.exists, what="the worker is busy")
    small = submit(installation, "b", "say")
    redis = installation.client._installation.sessions.workers._client
    assert redis.delete(lane_queue(QUEUE, pick_lane("b", LANES))) == 1
    gate.touch()
    assert result_of(busy).ok
    assert result_of(small, timeout_s=60).turns == TURNS
