"""What every worker does besides running tasks: it sweeps, and says which agents it knows."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from typing import Any

from celery import Celery, bootsteps
from redis.exceptions import RedisError

from ..state.workers import WorkerBook
from ..tasks.graph import BrokerAway
from ..tasks.runtime import runtime_of
from ..tasks.sweep import sweep

log = logging.getLogger(__name__)

ANNOUNCE_EVERY_S = 10.0


class SweepThread(threading.Thread):
    """Announces at once, then sweeps and announces every `interval_s`; Redis being away only delays it."""

    def __init__(self, app: Celery, worker: str, *, interval_s: float) -> None:
        super().__init__(name="symposia-sweep", daemon=True)
        self._app = app
        self._worker = worker
        self._interval_s = interval_s
        self._announce_at = 0.0
        self._closed = threading.Event()

    def run(self) -> None:
        """Sweeps until `close`."""
        runtime = runtime_of(self._app)
        book = WorkerBook(runtime.store.client)
        while True:
            try:
                if time.monotonic() >= self._announce_at:
                    book.announce(self._worker, runtime.registry.names())
                    self._announce_at = time.monotonic() + ANNOUNCE_EVERY_S
                sweep(runtime)
            except (RedisError, OSError, BrokerAway) as error:
                log.warning("sweep put off: %s", error)
            except Exception:
                log.exception("sweep failed; it will be tried again")
            if self._closed.wait(self._interval_s):
                break
        with suppress(RedisError, OSError):
            book.leave(self._worker)

    def close(self) -> None:
        """Ends the thread after the sweep under way."""
        self._closed.set()


class SweepStep(bootsteps.StartStopStep):
    """Runs the sweep thread as long as the worker runs."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, _worker: Any, **_options: Any) -> None:
        self._thread: SweepThread | None = None

    def start(self, worker: Any) -> None:
        """The pool is there: tasks that the sweep sends can run."""
        interval_s: float = worker.app.conf.symposia_sweep_interval_s
        self._thread = SweepThread(worker.app, worker.hostname, interval_s=interval_s)
        self._thread.start()

    def stop(self, _worker: Any) -> None:
        """Warm shutdown begins: turns under way still commit, but nothing new is sent."""
        if self._thread is not None:
            self._thread.close()

    def terminate(self, worker: Any) -> None:
        """The same in a cold shutdown."""
        self.stop(worker)


class RuntimeStep(bootsteps.StartStopStep):
    """Builds the runtime when the worker starts, so that a bad agents file is told at once, and what would
    fail in its agents' turns, too.

    Nothing is closed when it stops: in a warm shutdown turns still speak, and need their leases, after
    this step. Its threads are daemons and end with the process.
    """

    requires = ("celery.worker.components:Pool",)

    def start(self, worker: Any) -> None:
        """Raises RegistryError, which ends the worker."""
        for problem in runtime_of(worker.app).registry.check():
            log.warning("agents: %s", problem)
