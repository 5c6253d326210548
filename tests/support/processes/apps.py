"""Celery apps that deliver badly, for `celery -A processes.apps:NAME worker`."""

from __future__ import annotations

import dataclasses
import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from celery import Celery, bootsteps

from symposia.client.building.connection import redis_url_in_use
from symposia.client.building.runtime import build_runtime, per_process
from symposia.config.settings import load_settings
from symposia.tasks.runtime.graph import TaskGraph, TurnCall
from symposia.tasks.runtime.runtime import Boundary, Runtime, install_runtime
from symposia.workers.worker_app import create_worker_app


class EverythingTwice(TaskGraph):
    """Sends each turn twice, so that two threads or workers begin it at the same time."""

    def send_turns(self, calls: Sequence[TurnCall], *, parent: str, sent_ms: int) -> None:
        super().send_turns(calls, parent=parent, sent_ms=sent_ms)
        super().send_turns(calls, parent=parent, sent_ms=sent_ms)

    def send_advance(
        self, session_id: str, *, sent_ms: int, first: bool = False, tenant: str | None = None
    ) -> None:
        super().send_advance(session_id, sent_ms=sent_ms, first=first, tenant=tenant)
        super().send_advance(session_id, sent_ms=sent_ms, tenant=tenant)


settings = load_settings()


def _runtime_of(app: Celery) -> Runtime:
    return build_runtime(app, settings, redis_url=redis_url_in_use(settings))


def _twice_runtime():
    return dataclasses.replace(_runtime_of(twice), graph=EverythingTwice(lambda: twice, can_run=bool))


twice = create_worker_app(settings)
install_runtime(twice, per_process(_twice_runtime))


class WaitsBeforeCommit:
    """Where a worker is killed: all is said, nothing is written. It leaves a file and waits for its end."""

    def __call__(self, boundary: Boundary, _session_id: str, _number: int) -> None:
        if boundary is Boundary.BEFORE_COMMIT:
            Path("before-commit").touch()
            time.sleep(60)


hesitant = create_worker_app(settings)


def _hesitant_runtime():
    return dataclasses.replace(_runtime_of(hesitant), fault_hook=WaitsBeforeCommit())


install_runtime(hesitant, per_process(_hesitant_runtime))


def _interrupted_runtime():
    signal.raise_signal(signal.SIGQUIT)
    return _runtime_of(interrupted_starting)


interrupted_starting = create_worker_app(settings)
install_runtime(interrupted_starting, per_process(_interrupted_runtime))


class InterruptedHandingOver(ThreadPoolExecutor):
    """Gets SIGQUIT while it hands over its first task, and holds the lock that it takes for this."""

    _is_interrupted = False

    def _adjust_thread_count(self) -> None:
        super()._adjust_thread_count()  # type: ignore[misc]
        if not self._is_interrupted:
            self._is_interrupted = True
            signal.raise_signal(signal.SIGQUIT)


class InterruptedStep(bootsteps.StartStopStep):
    """Has the worker's tasks handed over like that."""

    requires = ("celery.worker.components:Pool",)

    def start(self, worker: Any) -> None:
        worker.pool.executor = InterruptedHandingOver(worker.pool.limit)


interrupted_handing_over = create_worker_app(settings)
interrupted_handing_over.steps["worker"].add(InterruptedStep)
