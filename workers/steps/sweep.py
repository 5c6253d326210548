"""Bootsteps of the sweep: announcement of the worker with its idle time, and send times of taken messages.

`symposia doctor` compares the idle time with the queue.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any

from celery import Celery, bootsteps
from celery.worker import state

from ...agents.registry.source import CHECK_EVERY_S
from ...config.settings import Settings
from ...models.errors import InvalidInput
from ...models.metrics import SWEEPS
from ...patches.queue_rotation import empty_queues
from ...reviews.panels import load_panels
from ...state.presence import WorkerPresence, WorkerRoute
from ...state.redis.formats import FORMATS
from ...state.sessions.index import SENT_MS
from ...tasks.runtime.lanes import lane_queues
from ...tasks.runtime.queues import queue_name
from ...tasks.runtime.runtime import Runtime, runtime_of
from ...tasks.sessions.sweep import always_free, sweep
from ...tasks.turns.admission import wake_awaiting_sessions
from .background_loops import BackgroundLoop, LoopStep
from .startup import AgentsQueueStep


class IdleTimer:
    """Idle time of this worker process, from Celery's own counts; the caller calls `update` repeatedly.

    Args:
        places: Function that returns the number of Celery tasks that can run in parallel.
        clock: Function that returns monotonic seconds.
    """

    def __init__(self, places: Callable[[], int], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._places = places
        self._clock = clock
        self._begun = state.all_total_count[0]
        self._was_busy = False
        self._since_s = clock()

    def update(self) -> None:
        """Reset the idle time if a Celery task has started since the last call.

        Reset it also if no slot is free, or was free at the last call.
        """
        begun, is_busy = state.all_total_count[0], len(state.active_requests) >= self._places()
        if begun != self._begun or is_busy or self._was_busy:
            self._since_s = self._clock()
        self._begun, self._was_busy = begun, is_busy

    @property
    def ms(self) -> int:
        """Return the idle time in milliseconds."""
        return int((self._clock() - self._since_s) * 1000)


#: Seconds between two announcements of a worker.
ANNOUNCE_EVERY_S = 5.0
#: Seconds that a stop waits for the worker's announcement to be removed.
_LEAVE_TIMEOUT_S = 3.0

#: Function that returns the names that schedules may use, by kind; called for each announcement.
Offers = Callable[[], Mapping[str, Iterable[str]]]


def make_sweep_thread(  # noqa: PLR0913 - each is a part of the announcement
    app: Celery,
    worker: str,
    *,
    interval_s: float,
    places: Callable[[], int],
    queue: str = "",
    lanes: int = 0,
    offers: Offers = dict,
    is_free: Callable[[], bool] = always_free,
    on_done: Callable[[], object] = lambda: None,
) -> BackgroundLoop:
    """Return a loop that announces the worker and sweeps, at once and then every `interval_s` seconds.

    Between rare sweeps it announces the worker, too: after 30 seconds of silence a worker counts as gone.

    Args:
        app: The Celery app.
        worker: Name of the worker.
        interval_s: Seconds between two sweeps; announcements are `ANNOUNCE_EVERY_S` seconds apart.
        places: Function that returns the number of Celery tasks that can run in parallel.
        queue: Queue in which the worker gets messages that others hand on.
        lanes: Number of lanes that the worker consumes.
        offers: Function that returns the names that schedules may use.
        is_free: Function that returns whether the worker could run another Celery task now.
        on_done: Function that is called after each sweep or announcement that succeeded.
    """
    runtime = runtime_of(app)
    book = WorkerPresence(runtime.store.client)
    idleness = IdleTimer(places)
    announce_at = sweep_at = 0.0
    is_rare = interval_s > ANNOUNCE_EVERY_S

    def turn() -> None:
        nonlocal announce_at, sweep_at, runtime
        idleness.update()
        before, runtime = runtime, runtime_of(app)
        if runtime.agents.registry is not before.agents.registry:
            # By then, all processes of the pool have had to check the file before their next turn.
            announce_at = min(announce_at, time.monotonic() + CHECK_EVERY_S)
        if time.monotonic() >= announce_at:
            taken = len(state.reserved_requests)
            book.announce(
                worker,
                runtime.agents.registry.known(),
                offers(),
                models=runtime.agents.registry.reader_models(),
                programs=runtime.agents.registry.program_identities(),
                # A worker that takes no messages of the common queue is no sign that it is stuck.
                idle_ms=idleness.ms if runtime.agents.served().takes_common else None,
                taken=taken,
                process=runtime.ports.held.process,
                route=_route(runtime, queue, lanes),
            )
            wake_awaiting_sessions(runtime)
            announce_at = time.monotonic() + ANNOUNCE_EVERY_S
        if is_rare and time.monotonic() < sweep_at:
            on_done()
            return
        sweep_at = time.monotonic() + interval_s
        try:
            sweep(runtime, is_free=is_free)
        except Exception:
            runtime.ports.metrics.count(SWEEPS, "failed")
            raise
        runtime.ports.metrics.count(SWEEPS, "done")
        on_done()

    every_s = min(interval_s, ANNOUNCE_EVERY_S)
    return BackgroundLoop("sweep", turn, interval_s=every_s, leave=partial(book.leave, worker))


def _route(runtime: Runtime, queue: str, lanes: int) -> WorkerRoute:
    agents = runtime.agents
    missing = {name for name in agents.registry.names() if not agents.registry.can_run(name)}
    unserved = tuple(
        name for name in agents.registry.names() if name not in missing and not agents.can_run(name)
    )
    unable = tuple(sorted({*missing, *unserved}))
    return WorkerRoute(queue, unable, FORMATS["session"], agents.queues(), unserved, lanes)


class SweepStep(LoopStep):
    """Bootstep that sweeps and announces the worker."""

    requires = (AgentsQueueStep,)
    what = "sweep"

    def make_thread(self, worker: Any) -> BackgroundLoop:
        """Return the loop, with the interval of the settings."""
        settings: Settings = worker.app.symposia_settings
        return make_sweep_thread(
            worker.app,
            worker.hostname,
            interval_s=settings.sweep_interval_s,
            places=lambda: worker.pool.num_processes,
            queue=worker.app.symposia_agents_queue,
            lanes=worker.app.symposia_lanes,
            offers=partial(_offers, settings),
            is_free=partial(_is_free, worker),
            on_done=partial(_note_sweep, worker),
        )

    def stop(self, worker: Any) -> None:
        """Stop the loop, and wait until it has removed the announcement.

        The thread is a daemon: an idle worker would end first, and count as running for 30 s.
        """
        super().stop(worker)
        if self._thread is not None:
            self._thread.join(_LEAVE_TIMEOUT_S)


def _note_sweep(worker: Any) -> None:
    worker.symposia_swept_at = time.monotonic()  # `HealthStep` reads it


def _is_free(worker: Any) -> bool:
    """Return whether the worker could take another message of the common queue, by Celery's own counts."""
    if not runtime_of(worker.app).agents.served().takes_common:
        return False
    return bool(len(state.reserved_requests) < worker.pool.num_processes)


def _offers(settings: Settings) -> dict[str, Iterable[str]]:
    """Return names that schedules may use, and no others; no panels while their file cannot be read."""
    try:
        panels = {"panels": list(load_panels())}
    except InvalidInput:
        panels = {}
    return {"roots": settings.review_roots, "jobs": settings.jobs, **panels}


class SentTimeStep(bootsteps.StartStopStep):
    """Bootstep that records the send times of messages taken from the common queue; the sweep passes them on."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def start(self, consumer: Any) -> None:
        """Start recording."""
        consumer.on_task_message.add(self._note)  # a set: after a reconnect it is already in it

    @staticmethod
    def _note(request: Any) -> None:
        # A queue of handed-on turns may be ahead of the common ones, whose messages would count as lost.
        queue, common = request.delivery_info["routing_key"], common_queues(request.app)
        if queue not in common:
            return
        taken = (queue, *(name for name in empty_queues(request) if name in common))
        progress = runtime_of(request.app).stores.queue_progress
        progress.record_taken(request.request_dict.get(SENT_MS), queues=taken, among=common)


def common_queues(app: Celery) -> frozenset[str]:
    """Return the common queue and its lanes, as far as the worker consumes them."""
    return _common_of(queue_name(app), tuple(app.amqp.queues.consume_from))


@lru_cache(maxsize=8)  # asked for at each message
def _common_of(queue: str, consumed: tuple[str, ...]) -> frozenset[str]:
    return frozenset((queue, *(name for name in lane_queues(queue) if name in consumed)))
