"""A turn whose agent this worker cannot run, seen from this worker."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from live import until
from sessions.stepper import Stepper
from symposia.agents.registry.agents_file import read_agents_file
from symposia.agents.registry.registry import Registry
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.agent_queues import AgentQueues, ServedQueues
from symposia.models.sessions.options import FailurePolicy
from symposia.state.presence import WorkerPresence, WorkerRoute
from symposia.state.redis.connect import connect
from symposia.state.redis.scripts import evaluate, load_script
from symposia.state.worker_leases import lease_keys
from symposia.state.worker_routes import AwaitedAgents, WorkerRoutes
from symposia.tasks.runtime.runtime import Agents
from symposia.tasks.sessions.sweep import QueueView, sweep, sweep_session, take_over_lost_workers
from symposia.tasks.turns import admission
from symposia.tasks.turns.admission import wake_awaiting_sessions

QUEUE = "symposia.agents.elsewhere"


@pytest.fixture
def stepper(tmp_path, redis_url: str) -> Stepper:
    return Stepper.on(redis_url, tmp_path)


@pytest.fixture
def book(redis_url: str) -> Iterator[WorkerPresence]:
    with connect(redis_url) as client:
        yield WorkerPresence(client)


def opened(stepper: Stepper, agent: str = "coder") -> CollabJob:
    return stepper.open(agent, turns=1, policy=FailurePolicy(attempts=1))


def announce(book: WorkerPresence, *agents: str, **route) -> None:
    book.announce("w1@elsewhere", agents, route=WorkerRoute(**route))


def handed_on(stepper: Stepper) -> int:
    """Number of messages in the queue of the other worker."""
    return stepper.runtime.store.client.llen(QUEUE)


def waiting_for(stepper: Stepper) -> dict[str, int]:
    return AwaitedAgents(stepper.runtime.store.client).count()


def check_no_attempt(job: CollabJob) -> None:
    state = job.state()
    record = state.records[1]
    assert (record.status, record.failures, record.grants, state.fence) == ("planned", 0, 0, 0)


def test_turn_is_handed_on_to_a_worker_with_the_agent(stepper, book):
    job = opened(stepper)
    announce(book, "coder", queue=QUEUE)
    assert stepper.turn(job, 1) == "handed-on"
    assert handed_on(stepper) == 1
    check_no_attempt(job)


def test_turn_is_left_to_a_worker_of_an_earlier_release(stepper, book):
    job = opened(stepper)
    book.announce("w1@elsewhere", ["coder"])
    assert stepper.turn(job, 1) == "deferred"
    check_no_attempt(job)


def test_turn_of_an_unknown_agent_waits(stepper, book):
    job = opened(stepper)
    announce(book, "echo", queue=QUEUE)
    assert stepper.turn(job, 1) == "waits"
    assert (job.state().awaited_agents, waiting_for(stepper)) == (("coder",), {"coder": 1})
    check_no_attempt(job)
    due_ms = stepper.runtime.index.time_of(job.id)
    assert stepper.turn(job, 1) == "waits"
    assert sweep(stepper.runtime) == 0, "nothing is sent for it"
    assert stepper.runtime.index.time_of(job.id) >= due_ms


def test_sweep_sends_the_turn_when_a_worker_knows_its_agent(stepper, book):
    job = opened(stepper)
    stepper.turn(job, 1)
    announce(book, "coder", queue=QUEUE)
    stepper.runtime.store.client.zadd("symposia:due", {job.id: 0})
    assert (sweep(stepper.runtime), handed_on(stepper)) == (1, 1)
    assert job.state().awaited_agents == ()


def test_worker_with_the_agent_finds_the_turn_at_once(stepper):
    job = opened(stepper)
    stepper.turn(job, 1)
    registry = Registry(objects={"coder": lambda _turn: "here"})
    knowing = replace(stepper.runtime, agents=replace(stepper.runtime.agents, registry=registry))
    wake_awaiting_sessions(stepper.runtime)
    assert stepper.runtime.index.time_of(job.id) > 0, "this worker cannot run the agent"
    wake_awaiting_sessions(knowing)
    assert (stepper.runtime.index.time_of(job.id), waiting_for(stepper)) == (0, {})


def test_turn_that_waits_does_not_hold_back_the_others(stepper, monkeypatch):
    people = [Participant(participant_id=name) for name in ("coder", "echo")]
    job = stepper.client.submit(
        Collab(title="A trip", purpose="book it", mode="broadcast", participants=people)
    )
    stepper.plan(job)
    with monkeypatch.context() as soon:
        soon.setattr(admission, "RECHECK_MS", 1)
        assert stepper.turn(job, 1) == "waits"
    due_ms = stepper.runtime.index.time_of(job.id)
    until(lambda: stepper.runtime.index.now_ms() > due_ms + 500)
    view = QueueView(stepper.runtime, None, time.monotonic(), grace_ms=200)
    assert sweep_session(stepper.runtime, job.id, view) == 1, "turn 2"
    assert job.state().records[1].lacks == "coder"


def test_message_is_handed_on_once(stepper, book):
    """Two workers whose announcements are both out of date would send it to and fro."""
    job = opened(stepper)
    announce(book, "coder", queue=QUEUE)
    assert stepper.turn(job, 1, handed_on=True) == "deferred"
    assert handed_on(stepper) == 0
    check_no_attempt(job)


def test_turn_of_a_lost_worker_is_not_sent_to_it(stepper, book):
    client = stepper.runtime.store.client
    job, lost = opened(stepper), "w1@elsewhere/1-a"
    book.announce("w1@elsewhere", ["coder"], process=lost, route=WorkerRoute(queue=QUEUE))
    assert stepper.runtime.graph.routes.to_agent("coder", fresh=True) == QUEUE
    report = [lost, 0, json.dumps([job.id]), "[]"]
    evaluate(client, load_script("worker_leases/report"), lease_keys(lost), report)
    sent = client.llen("celery")
    take_over_lost_workers(stepper.runtime)
    assert (client.llen("celery") - sent, handed_on(stepper)) == (1, 0)


BROKEN = """
[agents.coder]
kind = "command"
argv = ["/missing/program"]
"""


def broken(folder) -> Registry:
    file = folder / "broken.toml"
    file.write_text(BROKEN)
    return Registry(read_agents_file(file, None))


def test_turn_that_cannot_run_here_is_handed_on(stepper, book, tmp_path):
    job = opened(stepper)
    announce(book, "coder", queue=QUEUE)
    assert (
        stepper.turn(job, 1, agents=replace(stepper.runtime.agents, registry=broken(tmp_path))) == "handed-on"
    )
    check_no_attempt(job)


def test_turn_that_was_handed_on_does_not_fail_while_others_can_run_it(stepper, book, tmp_path):
    job = opened(stepper)
    announce(book, "coder", queue=QUEUE)
    assert (
        stepper.turn(
            job, 1, handed_on=True, agents=replace(stepper.runtime.agents, registry=broken(tmp_path))
        )
        == "deferred"
    )
    assert handed_on(stepper) == 0, "a message is handed on once"
    check_no_attempt(job)


def test_turn_that_can_run_nowhere_fails_with_the_reason(stepper, book, tmp_path):
    job = opened(stepper)
    announce(book, "coder", queue=QUEUE, unable=("coder",))
    stepper.turn(job, 1, agents=replace(stepper.runtime.agents, registry=broken(tmp_path)))
    state = job.state()
    assert (state.reason, "program not found" in state.detail) == ("failed", True)


def serving(stepper: Stepper, *names: str) -> Agents:
    """Agents of a worker that serves only these queues."""
    served = ServedQueues("symposia", frozenset(names), takes_common=not names)
    return replace(stepper.runtime.agents, served=lambda: served)


@pytest.mark.parametrize(
    ("queue", "here", "there", "word"),
    [
        (None, ["gpu"], ["cpu"], "waits"),
        (None, ["gpu"], [], "deferred"),
        ("gpu", [], ["gpu"], "handed-on"),
        ("gpu", [], ["cpu"], "waits"),
        ("gpu", ["cpu"], ["gpu"], "handed-on"),
        ("gpu", ["gpu"], [], "committed"),
    ],
)
def test_turn_runs_only_where_its_queue_is_served(stepper, book, queue, here, there, word):
    """`here`: queues of this worker; `there`: those of the other one. Without any, a worker takes the common queue."""
    binding = {"echo": {"agent": "echo", "queue": queue}}
    job = stepper.open("echo", turns=1, policy=FailurePolicy(attempts=1), agents=binding)
    served = ServedQueues("symposia", frozenset(there), takes_common=not there)
    announce(book, "echo", queue=QUEUE, queues=AgentQueues(served))
    routes = WorkerRoutes(book, served=serving(stepper, *here).served)
    stepper.runtime.graph.routes = routes
    assert stepper.turn(job, 1, agents=serving(stepper, *here)) == word
    lacks = f"echo (queue {queue})" if queue else "echo"
    assert waiting_for(stepper) == ({lacks: 1} if word == "waits" else {})
    assert stepper.runtime.store.client.llen("symposia.on.gpu") == (word == "handed-on")
    if word != "committed":
        check_no_attempt(job)
