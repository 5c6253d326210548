"""The server stops while workers run turns, and returns on its port."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from live import LiveWorker, result_of, until
from servers.killing import kill_server
from servers.ports import own_port
from symposia.client.embedded import EmbeddedServer
from symposia.models.sessions.stop_conditions import MaxTurns

# A machine that is loaded takes its time to start workers.
pytestmark = pytest.mark.timeout(180)

CELERYS_OWN = """
from kombu import Connection

from symposia.workers.app import app
from symposia.patches.kombu_transport import OneClientMessages


class Usual(OneClientMessages):
    Connection = Connection


app.amqp_cls = Usual
app.conf.worker_consumer = "celery.worker.consumer:Consumer"
app.conf.broker_transport_options = {**app.conf.broker_transport_options, "ack_emulation": True}
"""

#: The line at the begin of an outage.
OUTAGE = "retrying, with a line a minute"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """A durable server for one test."""
    with EmbeddedServer(tmp_path / "server", port=own_port(), bound=True) as server:
        yield server


@pytest.fixture
def redis_url(server: EmbeddedServer) -> str:
    return server.url


def speaking(installation, count: int = 1, **options):
    """Sessions whose third turn waits for the gate, in flight at this moment."""
    jobs = [
        installation.submit(
            "round_robin",
            {"ann": "gated", "bob": "gated"},
            stop=MaxTurns(6),
            parameters={"gate": str(installation.folder / "gate"), "gate_turn": 3},
            **options,
        )
        for _ in range(count)
    ]
    until(
        lambda: len([call for call in installation.calls() if call["turn"] == 3]) == count,
        what="third turns are being spoken",
    )
    return jobs


def open_the_gate(installation) -> None:
    (installation.folder / "gate").touch()


def finds_the_broker_lost(worker: LiveWorker) -> None:
    until(lambda: OUTAGE in worker.log(), timeout_s=40, what="the worker notices")


@pytest.mark.long
def test_worker_with_turns_survives_a_broker_loss(installation, server, checked):
    installation.lease_s = 60
    worker = installation.start_worker()
    jobs = speaking(installation, 3)
    kill_server(server)
    finds_the_broker_lost(worker)
    server.start()
    until(lambda: "answers again" in worker.log(), what="the worker notices that, too")
    open_the_gate(installation)
    for job in jobs:
        result = result_of(job)
        assert (result.ok, result.turns) == (True, 6)
        checked(job, result)

    assert worker.process.poll() is None, worker.log()
    problems = [it for it in worker.log().splitlines() if re.search(r" (WARNING|ERROR|CRITICAL)/", it)]
    assert len(problems) == 2, problems
    spoken = [(call["turn"], call["attempt"]) for call in installation.calls()]
    assert sorted(spoken) == sorted([(turn, 1) for turn in range(1, 7)] * 3), "nothing was paid for twice"


@pytest.mark.long
def test_output_during_an_outage_is_written_afterwards(installation, server, checked):
    installation.lease_s = 60
    worker = installation.start_worker(options=("--loglevel", "DEBUG"))
    (job,) = speaking(installation)
    kill_server(server)
    open_the_gate(installation)
    until(lambda: "failed, retrying: " in worker.log(), what="the agent has spoken")
    server.start()
    result = result_of(job)

    assert (result.ok, result.turns) == (True, 6)
    assert [(call["turn"], call["attempt"]) for call in installation.calls()] == [(n, 1) for n in range(1, 7)]
    checked(job, result)


@pytest.mark.long
def test_worker_survives_repeated_outages(installation, server, checked):
    installation.lease_s = 60
    worker = installation.start_worker()
    (job,) = speaking(installation)
    for ended in range(3):
        # Otherwise it would be the same outage.
        until(lambda ended=ended: worker.log().count("answers again") == ended, what="the last one has ended")
        said_before = len(worker.log())
        kill_server(server)
        # The connection that is lost may be one that was just being made.
        until(
            lambda before=said_before: OUTAGE in worker.log()[before:],
            timeout_s=40,
            what="the worker notices",
        )
        server.start()
        aside = installation.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxTurns(2))
        assert result_of(aside).ok
    open_the_gate(installation)
    result = result_of(job)

    assert (result.ok, result.turns) == (True, 6)
    assert worker.process.poll() is None, worker.log()
    checked(job, result)


@pytest.mark.long
def test_worker_survives_cut_connections(installation, server, checked):
    """The server stays, so what the worker holds could be given back, and would be spoken twice."""
    installation.lease_s = 60
    worker = installation.start_worker()
    (job,) = speaking(installation)
    installation.client._installation.sessions.workers._client.client_kill_filter(_type="normal", skipme=True)
    installation.client._installation.sessions.workers._client.client_kill_filter(_type="pubsub", skipme=True)
    finds_the_broker_lost(worker)
    open_the_gate(installation)
    result = result_of(job)

    assert (result.ok, result.turns) == (True, 6)
    assert [(call["turn"], call["attempt"]) for call in installation.calls()] == [(n, 1) for n in range(1, 7)]
    assert worker.process.poll() is None, worker.log()
    checked(job, result)


@pytest.mark.leaves_keys
@pytest.mark.long
def test_celerys_own_consumer_still_ends_the_worker(installation, server):
    """With acknowledgements, as Celery comes: see `patches/celery_consumer.py`."""
    (installation.folder / "celerys_own.py").write_text(CELERYS_OWN)
    worker = installation.start_worker(app="celerys_own")
    speaking(installation)
    kill_server(server)
    finds_the_broker_lost(worker)
    server.start()
    open_the_gate(installation)

    until(
        lambda: "Unrecoverable error: AttributeError(\"'NoneType' object has no attribute" in worker.log(),
        timeout_s=40,
        what="the worker ends",
    )
