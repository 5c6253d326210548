"""Workers with different agents files beside each other, as two projects on one machine have them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from live import LiveWorker, result_of, until
from symposia.models.sessions.options import FailurePolicy
from symposia.models.sessions.stop_conditions import Deadline, MaxTurns
from symposia.state.sessions.index import SessionIndex
from symposia.state.worker_routes import AwaitedAgents

#: They start many processes one after the other.
pytestmark = pytest.mark.timeout(180)

ONCE = FailurePolicy(attempts=1)


def start_stranger(installation, **options) -> LiveWorker:
    """Start a worker that has none of the agents of the sessions."""
    other = installation.folder / "other.toml"
    other.write_text('[agents.else]\nkind = "scripted"\nreplies = ["no"]\n')
    return replace(installation, agents_file=other).start_worker(**options)


def check_each_turn_once(job, checked, *, turns: int) -> None:
    result = result_of(job, timeout_s=45)
    assert (result.ok, result.turns) == (True, turns)
    completed = [e.payload["result"] for e in job.events() if e.event_type == "MAPTurnCompleted"]
    assert [it["outcome"] for it in completed] == ["message"] * turns
    checked(job, result)


@pytest.mark.long
@pytest.mark.parametrize(
    ("pool", "own"), [("threads", ()), ("prefork", ()), ("solo", ()), ("threads", ("--queues", "own"))]
)
def test_one_of_four_workers_gets_the_turns_of_its_agents(installation, checked, pool, own):
    options = ("--pool", pool)
    for _ in range(3):
        start_stranger(installation, options=options, wait=False)
    installation.start_worker(options=(*options, *own))
    jobs = [
        installation.submit("round_robin", {"ann": "say", "bob": "say"}, stop=MaxTurns(8), policy=ONCE)
        for _ in range(4)
    ]
    for job in jobs:
        check_each_turn_once(job, checked, turns=8)
    assert "waits for one" not in "".join(worker.log() for worker in installation.workers)


@pytest.mark.long
@pytest.mark.xdist_group("rabbitmq")
def test_turns_are_handed_on_over_rabbitmq(installation, checked, amqp_url):
    installation.broker_url = amqp_url
    test_one_of_four_workers_gets_the_turns_of_its_agents(installation, checked, "threads", ())


@pytest.mark.long
def test_turn_waits_until_a_worker_knows_its_agent(installation, checked):
    job = installation.submit("round_robin", {"ann": "say", "bob": "say"}, stop=MaxTurns(4), policy=ONCE)
    start_stranger(installation)
    redis = installation.client._installation.redis
    until(lambda: AwaitedAgents(redis).count() == {"say": 1}, what="the session waits for the agent")
    record = job.state().records[1]
    assert (record.lacks, record.grants, record.failures, job.state().fence) == ("say", 0, 0, 0)
    assert [it.event_type for it in job.events()] == ["MAPSessionStarted", "MAPRolesAssigned"]
    index = SessionIndex(redis)
    until(lambda: index.time_of(job.id) - index.now_ms() > 30_000, what="it is checked once a minute")

    installation.start_worker()
    check_each_turn_once(job, checked, turns=4)
    assert AwaitedAgents(redis).count() == {}


@pytest.mark.long
def test_wait_for_an_agent_ends_at_the_deadline(installation):
    job = installation.submit("round_robin", {"ann": "say"}, stop=MaxTurns(4) | Deadline(30), policy=ONCE)
    start_stranger(installation)
    result = result_of(job)
    assert (result.reason, result.turns) == ("deadline", 0)
