"""Workers of queues of agents beside workers of the common queue."""

from __future__ import annotations

import pytest

from live import REGISTRY, result_of, until
from symposia.models.sessions.options import FailurePolicy
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.state.presence import WorkerPresence
from symposia.state.worker_routes import AwaitedAgents

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]

ONCE = FailurePolicy(attempts=1)
BIG = """
[agents.big]
kind = "python"
callable = "stub_agents.live:say"
window = 1000
queue = "gpu"
"""
PANEL = {
    "session": {
        "title": "A panel",
        "purpose": "advise",
        "mode": "round_robin",
        "participants": [{"participant_id": "eve"}, {"participant_id": "fay"}],
        "agents": {"eve": "say", "fay": "big"},
        "stop": {"max_rounds": 1},
    }
}


@pytest.fixture
def installation(installation):
    (installation.folder / "agents.toml").write_text(REGISTRY + BIG)
    return installation


def start_common(installation, *options: str):
    return installation.start_worker(options=options)


def start_gpu(installation, *options: str):
    return installation.start_worker(options=("-Q", "symposia.on.gpu", *options))


def workers_by_participant(installation) -> dict[str, set[int]]:
    """Return the processes that ran turns of each participant."""
    processes: dict[str, set[int]] = {}
    for call in installation.calls():
        processes.setdefault(call["me"], set()).add(call["pid"])
    return processes


@pytest.mark.parametrize("pool", ["threads", "solo", "prefork"])
def test_turns_run_only_where_their_queue_is_served(installation, pool):
    common, _gpu = start_common(installation, "--pool", pool), start_gpu(installation, "--pool", pool)
    people: dict[str, object] = {
        "ann": "say",
        "ben": "big",
        "cyd": {"agent": "say", "queue": "gpu"},
        "dan": PANEL,
    }
    jobs = [installation.submit("round_robin", people, stop=MaxTurns(8), policy=ONCE) for _ in range(3)]
    results = [result_of(job, timeout_s=90) for job in jobs]
    assert [(result.ok, result.turns) for result in results] == [(True, 8)] * 3
    ran = workers_by_participant(installation)
    assert (ran["cyd"] | ran["fay"] | ran["ben"]).isdisjoint(ran["ann"] | ran["eve"])
    assert sorted(ran) == ["ann", "ben", "cyd", "eve", "fay"]
    if pool != "prefork":  # whose turns run in child processes
        assert ran["ann"] | ran["eve"] == {common.process.pid}


@pytest.mark.xdist_group("rabbitmq")
def test_queues_are_served_over_rabbitmq(installation, amqp_url):
    installation.broker_url = amqp_url
    test_turns_run_only_where_their_queue_is_served(installation, "threads")


def test_session_waits_for_a_worker_of_the_queue(installation, caplog):
    common, gpu = start_common(installation), start_gpu(installation)
    redis = installation.client._installation.redis
    gpu.kill()
    until(lambda: len(WorkerPresence(redis).list_alive()) == 1, what="the worker is gone")
    people = {"ann": "say", "ben": "big", "cyd": {"agent": "say", "queue": "gpu"}}
    job = installation.submit("round_robin", people, stop=MaxTurns(6), policy=ONCE)
    assert "no worker of queue gpu knows agents big, say" in caplog.text
    until(lambda: AwaitedAgents(redis).count() == {"big (queue gpu)": 1}, what="the session waits")
    record = job.state().records[2]
    assert (record.lacks, record.grants, record.failures) == ("big (queue gpu)", 0, 0)
    assert "no worker of queue gpu knows agent big" in common.log()

    start_gpu(installation)
    result = result_of(job, timeout_s=60)
    assert (result.ok, result.turns, AwaitedAgents(redis).count()) == (True, 6, {})
    assert workers_by_participant(installation)["ann"] == {common.process.pid}


def test_session_continues_after_the_worker_of_its_queue_is_killed(installation):
    start_common(installation)
    gpu = start_gpu(installation)
    job = installation.submit("round_robin", {"ann": "say", "ben": "big"}, stop=MaxTurns(400), policy=ONCE)
    until(lambda: job.state().closed >= 4, what="both have spoken")
    gpu.kill()
    until(lambda: job.state().awaited_agents == ("big (queue gpu)",), what="the session waits")
    start_gpu(installation)
    closed = job.state().closed
    until(lambda: job.state().closed > closed + 2, what="the session continues")
    job.cancel()


def test_worker_of_both_queues_runs_all_turns(installation):
    worker = start_common(installation, "-Q", "symposia,symposia.on.gpu")
    job = installation.submit("round_robin", {"ann": "say", "ben": "big"}, stop=MaxTurns(8), policy=ONCE)
    assert result_of(job).turns == 8
    assert set().union(*workers_by_participant(installation).values()) == {worker.process.pid}
