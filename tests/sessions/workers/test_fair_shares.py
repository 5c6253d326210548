"""Sessions of a tenant with few share a worker with the many of another one."""

from __future__ import annotations

import pytest

from live import REGISTRY, result_of, until
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.patches.kept_tasks import SLICE_S

pytestmark = [pytest.mark.xdist_group("rabbitmq"), pytest.mark.timeout(300)]

FLOOD = 12
TURNS = 3


@pytest.fixture(params=["redis", pytest.param("rabbitmq", marks=pytest.mark.long)])
def installation(installation, request):
    if request.param == "rabbitmq":
        installation.broker_url = request.getfixturevalue("amqp_url")
        installation.queue_type = "quorum"
    return installation


def submit(installation, tenant: str):
    return installation.submit("round_robin", {"ann": "slow"}, stop=MaxTurns(TURNS), tenant=tenant)


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
