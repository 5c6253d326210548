"""`symposia doctor` reports ready messages that no worker takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

import pytest

from live import LiveWorker, until
from processes.terminal import Terminal
from symposia.cli.doctor import server_checks
from symposia.config.celery import QUEUE
from symposia.config.settings import load_settings
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect

pytestmark = [pytest.mark.xdist_group("rabbitmq"), pytest.mark.timeout(180), pytest.mark.leaves_keys]


@pytest.fixture(params=["redis", pytest.param("rabbitmq", marks=pytest.mark.long)])
def terminal(terminal: Terminal, request: pytest.FixtureRequest) -> Terminal:
    """Tasks travel over each broker."""
    if request.param == "rabbitmq":
        terminal.settings["broker_url"] = request.getfixturevalue("amqp_url")
    return terminal


@contextmanager
def worker(terminal: Terminal, *options: str) -> Iterator[LiveWorker]:
    worker = LiveWorker(
        "w1", terminal.folder, terminal.environment, app="symposia.workers", concurrency=1, options=options
    )
    try:
        yield worker.wait_ready()
    finally:
        worker.close()


def check(terminal: Terminal) -> dict[str, dict]:
    """Findings by subject; the last one of each."""
    return {it["subject"]: it for it in terminal.call("doctor", "--json").json()["findings"]}


def idle_ms(terminal: Terminal) -> int:
    with connect(terminal.settings["redis_url"]) as client:
        return max((it.idle_ms or 0 for it in WorkerPresence(client).list_alive()), default=0)


@pytest.mark.long
def test_doctor_finds_a_worker_that_takes_no_messages(terminal: Terminal, pair_file: str, monkeypatch):
    monkeypatch.setattr(server_checks, "IDLE_MS", 1_000)
    with worker(terminal, "-Q", "elsewhere"):
        assert check(terminal)["queue"]["text"] == "0 messages are ready"
        assert terminal.call("submit", pair_file).code == 0
        until(lambda: idle_ms(terminal) > 1_000, what="the worker says that it is idle")
        findings = check(terminal)
    found = findings["queue"]
    assert found["grade"] == "bad"
    assert "w1@live takes none: it has free slots and has started no Celery task for" in found["text"]
    assert found["counts"]["ready"] > 0
    assert "SYMPOSIA_BROKER_URL" in found["advice"]
    if "broker_url" in terminal.settings:
        assert findings["broker"]["grade"] == "ok"


def test_busy_worker_is_not_reported(terminal: Terminal, gated_file: str, gate, monkeypatch):
    monkeypatch.setattr(server_checks, "IDLE_MS", 1_000)
    with worker(terminal):
        for _ in range(3):
            assert terminal.call("submit", gated_file).code == 0
        until(lambda: check(terminal)["queue"]["counts"]["ready"] > 0, what="messages wait for the place")
        found = check(terminal)["queue"]
        gate.touch()
    assert found["grade"] == "ok"


def test_worker_that_became_busy_is_not_reported(redis_url: str, monkeypatch):
    """A burst of messages after a quiet hour: the newest announcement is from before it."""
    monkeypatch.setattr(server_checks, "_APART_MS", 0)
    with connect(redis_url) as client:
        book = WorkerPresence(client)
        book.announce("w", [], idle_ms=3_600_000)
        client.lpush(QUEUE, "1", "2")
        busy = Timer(0.5, book.announce, ("w", []), {"idle_ms": 0})
        busy.start()
        (finding,) = server_checks.check_queue(client, load_settings(redis_url=redis_url))
        busy.join()
        assert (finding.grade, finding.text) == ("ok", "2 messages are ready")
        assert book.list_alive()[0].idle_ms == 0, "it waited for the next announcement"
