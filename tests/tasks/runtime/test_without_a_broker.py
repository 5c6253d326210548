"""A broker outage after a commit: one line in the log, and the sweep continues the session."""

from __future__ import annotations

import logging
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from celery import Celery

from chaos.machinery.server import Valkey
from live import until
from servers.ports import own_port
from sessions.stepper import Stepper
from symposia.models.protocol.collab import CollabStatus
from symposia.tasks.runtime.graph import TaskGraph, broker_error
from symposia.tasks.sessions.sweep import sweep


@pytest.fixture
def stepper(redis_url: str, tmp_path: Path) -> Stepper:
    """Its Redis answers, its broker does not."""
    nowhere = Celery(broker=f"redis://127.0.0.1:{own_port()}/0", set_as_current=False)
    stepper = Stepper.on(redis_url, tmp_path)
    return replace(stepper, runtime=replace(stepper.runtime, graph=TaskGraph(lambda: nowhere)))


def test_turn_is_written_without_a_broker(stepper: Stepper, caplog: pytest.LogCaptureFixture) -> None:
    job = stepper.open("echo", "echo2", turns=2, agents={"echo": "echo", "echo2": "echo"})
    caplog.clear()
    with caplog.at_level(logging.WARNING, "symposia"):
        assert stepper.turn(job, 1) == "committed"
    (told,) = [it for it in caplog.records if it.name.startswith("symposia")]
    assert told.getMessage().startswith(f"broker unavailable, the sweep will dispatch session {job.id}: ")
    assert "\n" not in told.getMessage()
    assert told.exc_info is None
    assert stepper.turn(job, 2) == "committed"
    assert job.status() is CollabStatus.COMPLETED


@pytest.mark.long
def test_sweep_stops_at_the_first_broker_error(stepper: Stepper, caplog: pytest.LogCaptureFixture) -> None:
    jobs = [stepper.open("echo", turns=1, agents={"echo": "echo"}) for _ in range(3)]
    index = stepper.runtime.index
    stepper = replace(
        stepper, runtime=replace(stepper.runtime, limits=replace(stepper.runtime.limits, grace_ms=0))
    )
    for job in jobs:
        index.set_due_by(job.id, 0)
    caplog.clear()
    with pytest.raises(broker_error()):
        sweep(stepper.runtime)
    assert not [it for it in caplog.records if it.name.startswith("symposia") and it.exc_info]
    for job in jobs:
        assert stepper.turn(job, 1) == "committed"


@pytest.mark.long
def test_broker_outage_costs_the_sweep_one_message(stepper: Stepper) -> None:
    """Else each session would be due later and later, as if its messages had been lost again and again."""
    jobs = [stepper.open("echo", turns=1, agents={"echo": "echo"}) for _ in range(3)]
    stepper = replace(
        stepper, runtime=replace(stepper.runtime, limits=replace(stepper.runtime.limits, grace_ms=0))
    )
    for _ in range(5):
        for job in jobs:
            stepper.runtime.index.set_due_by(job.id, 0)
        with pytest.raises(broker_error()):
            sweep(stepper.runtime)
    sent = [turn.dispatches for job in jobs for turn in stepper.runtime.store.state(job.id).open_turns()]
    assert sum(sent) <= 1


@pytest.mark.long
def test_sweep_continues_when_the_broker_is_back(stepper: Stepper, tmp_path: Path) -> None:
    server = Valkey(tmp_path / "broker")
    with closing(server):
        app = Celery(broker=server.url, set_as_current=False)
        limits = replace(stepper.runtime.limits, grace_ms=0)
        runtime = replace(stepper.runtime, graph=TaskGraph(lambda: app), limits=limits)
        job = stepper.open("echo", turns=1, agents={"echo": "echo"})

        def look() -> int:
            runtime.index.set_due_by(job.id, 0)
            return sweep(runtime)

        for _ in range(3):
            with pytest.raises(broker_error()):
                look()
        server.start()
        assert until(look, what="it is sent") == 1
        assert server.client.llen("celery") == 1


def test_sent_message_ends_the_pause(stepper: Stepper, tmp_path: Path) -> None:
    server = Valkey(tmp_path / "broker")
    with closing(server):
        app = Celery(broker=server.url, set_as_current=False)
        graph = TaskGraph(lambda: app)
        with pytest.raises(broker_error()):
            graph.send_advance("one", sent_ms=0)
        server.start()
        graph.send_advance("two", sent_ms=0)
        server.kill()
        graph.check()
