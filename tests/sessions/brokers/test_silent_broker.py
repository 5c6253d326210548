"""A server that was lost without a word, and a server that is not there yet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from live import result_of, until
from servers.half_open import Wire, half_open_wire
from servers.ports import own_port
from symposia.client.embedded import EmbeddedServer
from symposia.models.sessions.stop_conditions import MaxTurns

# A machine that is loaded takes its time to start workers.
pytestmark = pytest.mark.timeout(180)

OVERDUE = re.compile(r"BRPOP got no reply for (\d+) seconds; dropping stale connection")
#: What the worker would wait at least with kombu's default.
KOMBUS_OWN_S = 26


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path / "server", port=own_port(), durable=False, bound=True) as server:
        yield server


@pytest.fixture
def wire(server: EmbeddedServer) -> Iterator[Wire]:
    with half_open_wire(server.url) as wire:
        yield wire


@pytest.fixture
def redis_url(wire: Wire) -> str:
    return wire.url


@pytest.mark.long
def test_worker_replaces_silent_connections(installation, wire, checked):
    worker = installation.start_worker(options=("--loglevel", "DEBUG"))
    until(lambda: "Connected to" in worker.log(), what="the worker is connected")
    wire.silence()
    job = installation.submit("round_robin", {"ann": "say", "bob": "say"}, stop=MaxTurns(6))
    waited = until(lambda: OVERDUE.search(worker.log()), timeout_s=60, what="the worker notices")
    assert int(waited[1]) < KOMBUS_OWN_S
    result = result_of(job, timeout_s=60)

    assert (result.ok, result.turns) == (True, 6)
    assert worker.process.poll() is None, worker.log()
    checked(job, result)


@pytest.mark.long
def test_worker_waits_for_a_server_that_starts_later(installation, server, checked):
    server.stop()
    worker = installation.start_worker(wait=False)
    until(lambda: "retrying, with a line a minute" in worker.log(), timeout_s=40, what="the worker tries")
    server.start()
    worker.wait_ready()
    job = installation.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxTurns(2))
    result = result_of(job)

    assert (result.ok, result.turns) == (True, 2)
    checked(job, result)
