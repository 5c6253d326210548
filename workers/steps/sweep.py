"""Sweep and announcement of a worker: its idle time, which `symposia doctor` compares with the queue, and the send times of the messages that it takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from celery import Celery, bootsteps
from celery.worker import state
from celery.worker import state as worker_state

from ...models.errors import InvalidInput
from ...reviews.panels import load_panels
from ...state.presence import WorkerPresence
from ...state.sessions.queue_progress import SENT_MS
from ...tasks.runtime.runtime import runtime_of
from ...tasks.sessions.sweep import always_free, sweep
from .background_loops import BackgroundLoop, LoopStep


class IdleTimer:
    """Watches Celery's own counts of this worker process; `look` is called again and again.

    Args:
        places: Returns the number of tasks that run side by side.
        clock: Seconds.
    """

    def __init__(self, places: Callable[[], int], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._places = places
        self._clock = clock
        self._begun = state.all_total_count[0]
        self._was_busy = False
        self._since_s = clock()

    def update(self) -> None:
        """Start again at zero if a task has begun since the last look, or if every place was taken at either look."""
        begun, is_busy = state.all_total_count[0], len(state.active_requests) >= self._places()
        if begun != self._begun or is_busy or self._was_busy:
            self._since_s = self._clock()
        self._begun, self._was_busy = begun, is_busy

    @property
    def ms(self) -> int:
        """Idle milliseconds up to now."""
        return int((self._clock() - self._since_s) * 1000)


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


class SentTimeStep(bootsteps.StartStopStep):
    """Records send times while the consumer runs; the sweep passes them to other workers."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def start(self, consumer: Any) -> None:
        """As in StartStopStep."""
        consumer.on_task_message.add(self._note)  # a set: after a reconnect it is already in it

    @staticmethod
    def _note(request: Any) -> None:
        runtime_of(request.app).queue_progress.record_taken(request.request_dict.get(SENT_MS))
