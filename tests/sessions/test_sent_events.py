"""What monitors such as Flower are told of tasks: that each was sent, whatever pool the worker that sent it has."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from celery import Celery

from live import until
from symposia.config.settings import load_settings
from symposia.models.stop import MaxRounds
from symposia.workers.making import create_app


class Monitor(Thread):
    """Hears every event of workers and of clients, as Flower does, until it is closed."""

    def __init__(self, app: Celery) -> None:
        super().__init__(daemon=True)
        self.heard: list[dict[str, Any]] = []
        self.alone: list[dict[str, Any]] = []
        self._app = app
        self._receiver: Any = None

    def run(self) -> None:
        with self._app.connection_for_read() as connection:
            self._receiver = self._app.events.Receiver(connection, handlers={"*": self.heard.append})
            usual = self._receiver._receive
            self._receiver._receive = lambda body, message: (self._note(body), usual(body, message))
            self._receiver.capture(timeout=60, wakeup=False)

    def _note(self, body: Any) -> None:
        if isinstance(body, dict):
            self.alone.append(body)

    def close(self) -> None:
        self._receiver.should_stop = True
        self.join(10)

    def told(self, kind: str) -> dict[str, dict[str, Any]]:
        return {event["uuid"]: event for event in list(self.heard) if event["type"] == kind}


@pytest.fixture
def monitor(stage) -> Iterator[Monitor]:
    app = create_app(load_settings(**stage.settings))
    monitor = Monitor(app)
    monitor.start()
    with app.connection_for_write() as connection, app.events.Dispatcher(connection) as dispatcher:

        def hears() -> bool:
            dispatcher.send("worker-heartbeat")
            return bool(monitor.heard)

        until(hears, what="the monitor hears")
    yield monitor
    monitor.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pool", "options"),
    [
        ("threads", ()),
        # Its processes are forked anew while the consumer gathers events.
        ("processes", ("--max-tasks-per-child", "4")),
        ("solo", ()),
    ],
)
@pytest.mark.parametrize("mode", ["round_robin", "broadcast"])
def test_each_task_is_told_as_sent(stage, monitor, pool, options, mode):
    stage.start_worker(concurrency=2, options=("--pool", pool, *options))
    agents = {"ann": "say", "bob": "say", "cyd": "say"}
    job = stage.submit(mode, agents, stop=MaxRounds(4))
    assert job.result(timeout=40).turns == 12

    def told() -> bool:
        sent, ended = monitor.told("task-sent"), monitor.told("task-succeeded")
        return len(ended) >= 13 and sent.keys() == ended.keys()

    until(told, what="every task was told as sent")
    turns = [it for it in monitor.told("task-sent").values() if "turn=" in it["kwargs"]]
    assert len({it["kwargs"] for it in turns}) == 12  # one may be sent again while processes are forked
    assert {it["root_id"] for it in turns} == {job.id}
    alone = {event.get("uuid") for event in monitor.alone}
    assert any(it["uuid"] in alone for it in turns) is (pool == "processes")
