"""What every worker does besides running tasks: it sweeps, and says which agents it knows."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from celery import Celery

from ..state.workers import WorkerBook
from ..tasks.runtime import runtime_of
from ..tasks.sweep import sweep
from .rounds import RoundStep, RoundThread

ANNOUNCE_EVERY_S = 10.0


def sweeping(app: Celery, worker: str, *, interval_s: float) -> RoundThread:
    """A thread that announces at once, then sweeps and announces every `interval_s` seconds."""
    runtime = runtime_of(app)
    book = WorkerBook(runtime.store.client)
    announce_at = 0.0

    def turn() -> None:
        nonlocal announce_at
        if time.monotonic() >= announce_at:
            book.announce(worker, runtime.registry.names())
            announce_at = time.monotonic() + ANNOUNCE_EVERY_S
        sweep(runtime)

    return RoundThread("sweep", turn, interval_s=interval_s, leave=partial(book.leave, worker))


class SweepStep(RoundStep):
    """Sweeps as long as the worker runs."""

    what = "sweep"

    def rounds(self, worker: Any) -> RoundThread:
        """Sweeps at the interval of the settings."""
        return sweeping(worker.app, worker.hostname, interval_s=worker.app.conf.symposia_sweep_interval_s)
