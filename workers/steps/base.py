"""Sweep and announcement of a worker, besides running Celery tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from celery import Celery
from celery.worker import state as worker_state

from ...models.errors import InvalidInput
from ...reviews.panels import load_panels
from ...state.workers.presence import WorkerPresence
from ...tasks.runtime.runtime import runtime_of
from ...tasks.sessions.sweep import always_free, sweep
from .background_loops import BackgroundLoop, LoopStep
from .idleness import IdleTimer

ANNOUNCE_EVERY_S = 5.0


#: What schedules may name, by kind; asked at every announcement.
Offers = Callable[[], Mapping[str, Iterable[str]]]


def make_sweep_thread(
    app: Celery,
    worker: str,
    *,
    interval_s: float,
    places: Callable[[], int],
    offers: Offers = dict,
    is_free: Callable[[], bool] = always_free,
) -> BackgroundLoop:
    """A thread that announces at once, then sweeps and announces every `interval_s` seconds.

    `places` answers how many tasks the worker runs side by side, `is_free` whether it could take another one now.
    """
    runtime = runtime_of(app)
    book = WorkerPresence(runtime.store.client)
    idleness = IdleTimer(places)
    announce_at = 0.0

    def turn() -> None:
        nonlocal announce_at
        idleness.update()
        if time.monotonic() >= announce_at:
            book.announce(worker, runtime.registry.names(), offers(), idle_ms=idleness.ms)
            announce_at = time.monotonic() + ANNOUNCE_EVERY_S
        sweep(runtime, is_free=is_free)

    return BackgroundLoop("sweep", turn, interval_s=interval_s, leave=partial(book.leave, worker))


class SweepStep(LoopStep):
    """Sweeps while the worker runs."""

    what = "sweep"

    def make_thread(self, worker: Any) -> BackgroundLoop:
        """Return the thread, with the interval of the settings."""
        conf = worker.app.conf
        return make_sweep_thread(
            worker.app,
            worker.hostname,
            interval_s=conf.symposia_sweep_interval_s,
            places=lambda: worker.pool.num_processes,
            offers=partial(_offers, conf),
            is_free=partial(_is_free, worker),
        )


def _is_free(worker: Any) -> bool:
    """Return True if the worker could run another Celery task, by Celery's own counts."""
    return bool(len(worker_state.reserved_requests) < worker.pool.num_processes)


def _offers(conf: Any) -> dict[str, Iterable[str]]:
    """Return names that schedules may use; no panels while their file cannot be read."""
    try:
        panels = {"panels": list(load_panels())}
    except InvalidInput:
        panels = {}
    return {"roots": conf.symposia_review_roots, "jobs": conf.symposia_jobs, **panels}
