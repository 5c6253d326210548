"""Bootsteps with background loops.

The loops: archive, deliveries, batch reviews, schedules, workspace tasks.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from celery import Celery, bootsteps
from redis.exceptions import RedisError

from ...client.building.workspace import OVERDUE_CHECK_INTERVAL_S
from ...client.notices.service import notifier_of
from ...config.settings import Settings
from ...models.errors import ArchiveError
from ...models.metrics import ARCHIVE_FAILURES, ARCHIVED
from ...reviews.batches.batch import sweep_batches
from ...reviews.batches.context import review_context_of
from ...reviews.celery_tasks import deliverer_of, send_due_deliveries
from ...schedules.celery_tasks import sweep_schedules
from ...tasks.ports import MetricSink
from ...tasks.runtime.archiving import Archiver
from ...tasks.runtime.graph import broker_error
from ...tasks.runtime.runtime import runtime_of
from ...workspace.notifications import NotificationStreams
from ...workspace.service import WorkspaceService
from .startup import RuntimeStep

log = logging.getLogger(__name__)


class BackgroundLoop(threading.Thread):
    """Thread that calls `turn` at once, then every `interval_s` seconds, until `close`.

    An outage of Redis only delays the calls.

    Args:
        what: Name of the work, for the log and the name of the thread.
        turn: Function that is called each time; it may raise.
        interval_s: Seconds from the end of a call to the next one.
        leave: Function that is called once at the end.
    """

    def __init__(
        self,
        what: str,
        turn: Callable[[], object],
        *,
        interval_s: float,
        leave: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(name=f"symposia-{what}", daemon=True)
        self._what = what
        self._turn = turn
        self._leave = leave
        self._interval_s = interval_s
        self._closed = threading.Event()

    def run(self) -> None:
        """Run until `close`."""
        self._attempt(self._turn)
        while not self._closed.wait(self._interval_s):
            self._attempt(self._turn)
        self._attempt(self._leave)

    def _attempt(self, action: Callable[[], object]) -> None:
        try:
            action()
        except (RedisError, OSError, broker_error()) as error:
            log.warning("%s failed, will retry: %s", self._what, error)
        except Exception:
            log.exception("%s failed, will retry", self._what)

    def close(self) -> None:
        """End the thread after its current call."""
        self._closed.set()


class LoopStep(bootsteps.StartStopStep):
    """Base class of bootsteps that run a background loop while the worker runs.

    The loop starts after the pool and the runtime, so that the messages it sends can be processed. It ends when a
    shutdown begins: running turns still commit, but nothing new is started. Another worker, or this one after
    a restart, continues the work.
    """

    requires: tuple[type[bootsteps.StartStopStep], ...] = (RuntimeStep,)
    #: Name of the work, for the log and the name of the thread.
    what: ClassVar[str]

    def __init__(self, _worker: Any, **_options: Any) -> None:
        self._thread: BackgroundLoop | None = None

    def make_thread(self, worker: Any) -> BackgroundLoop | None:
        """Return the loop of this worker, not started; None if there is nothing to do."""
        settings: Settings = worker.app.symposia_settings
        return BackgroundLoop(
            self.what, partial(self.sweep, worker.app), interval_s=settings.sweep_interval_s
        )

    def sweep(self, app: Celery) -> object:
        """Do what is due, in the interval of the sweep; subclasses with another loop replace `make_thread`."""
        raise NotImplementedError

    def start(self, worker: Any) -> None:
        """Start the thread."""
        self._thread = self.make_thread(worker)
        if self._thread is not None:
            self._thread.start()

    def stop(self, _worker: Any) -> None:
        """Stop the thread after its current call."""
        if self._thread is not None:
            self._thread.close()

    def terminate(self, worker: Any) -> None:
        """Stop the thread in a cold shutdown too."""
        self.stop(worker)


#: Maximum seconds between two checks for due sessions.
_LOOK_EVERY_S = 1.0
#: Seconds until the next attempt after a database failure: first and maximum.
_FIRST_PAUSE_S = 1.0
_MAX_PAUSE_S = 30.0
#: Maximum seconds between two batches of sessions.
_MAX_REST_S = 0.5


class BackoffArchiver:
    """Archiver with exponential backoff for an unavailable database."""

    def __init__(self, archiver: Archiver, metrics: MetricSink) -> None:
        self._archiver = archiver
        self._metrics = metrics
        self._pause_s = _FIRST_PAUSE_S
        self._not_before = 0.0

    def archive_due(self) -> None:
        """Archive due sessions, except during the backoff.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        if time.monotonic() < self._not_before:
            return
        try:
            # Sessions that were submitted together are due together: without a rest, their turns would wait.
            archived = self._archiver.archive_due(rest=lambda took_s: time.sleep(min(took_s, _MAX_REST_S)))
            self._metrics.count(ARCHIVED, amount=archived)
        except ArchiveError as error:
            self._metrics.count(ARCHIVE_FAILURES)
            log.warning("archiving failed, retrying in %g s: %s", self._pause_s, error)
            self._not_before = time.monotonic() + self._pause_s
            self._pause_s = min(self._pause_s * 2, _MAX_PAUSE_S)
        else:
            self._pause_s = _FIRST_PAUSE_S


class ArchiveStep(LoopStep):
    """Bootstep that archives sessions, if an archive is configured.

    Pending ones stay in the archive queue.
    """

    what = "archiving"

    def make_thread(self, worker: Any) -> BackgroundLoop | None:
        """Return the loop.

        It connects later, so that a database outage does not prevent the start of the worker.
        """
        runtime = runtime_of(worker.app)
        if runtime.ports.archiver is None:
            return None
        archiver = BackoffArchiver(runtime.ports.archiver, runtime.ports.metrics)
        interval_s = min(worker.app.symposia_settings.archive_interval_s, _LOOK_EVERY_S)
        return BackgroundLoop(self.what, archiver.archive_due, interval_s=interval_s)


#: Seconds between two attempts to store notes that wait.
_NOTES_EVERY_S = 5.0


class NotesStep(LoopStep):
    """Bootstep that stores notes in the long-term memory that could not be stored when their turns were written."""

    what = "long-term memory"

    def make_thread(self, worker: Any) -> BackgroundLoop:
        """Return the loop."""
        retry = runtime_of(worker.app).ports.recollections.retry
        return BackgroundLoop(self.what, retry, interval_s=_NOTES_EVERY_S)


class DeliveryStep(LoopStep):
    """Bootstep that sends Celery tasks for pending deliveries."""

    what = "deliveries"

    def start(self, worker: Any) -> None:
        """Log problems of the destinations, and start the loop."""
        for problem in deliverer_of(worker.app).problems():
            log.warning("problem with deliveries, affected reports are not delivered: %s", problem)
        super().start(worker)

    def sweep(self, app: Celery) -> object:
        """Send what is due."""
        return send_due_deliveries(app)


#: Seconds between two checks for due notices.
_NOTICES_EVERY_S = 1.0


class NoticeStep(LoopStep):
    """Bootstep that sends notices to people about their questions."""

    what = "notices"

    def make_thread(self, worker: Any) -> BackgroundLoop:
        """Return the loop."""
        notifier = notifier_of(worker.app, worker.app.symposia_settings)
        return BackgroundLoop(self.what, notifier.start_due, interval_s=_NOTICES_EVERY_S)


class ReviewStep(LoopStep):
    """Bootstep that sends Celery tasks for overdue batches."""

    what = "reviews"

    def sweep(self, app: Celery) -> object:
        """Send what is overdue."""
        return sweep_batches(review_context_of(app))


class ScheduleStep(LoopStep):
    """Bootstep that sends Celery tasks for overdue schedules."""

    what = "schedules"

    def sweep(self, app: Celery) -> object:
        """Send what is overdue."""
        return sweep_schedules(app)


class TaskStep(LoopStep):
    """Bootstep that fails tasks whose request ended before the verdict, if an archive is configured."""

    what = "tasks"

    def make_thread(self, worker: Any) -> BackgroundLoop | None:
        """Return the loop; it creates no database."""
        runtime = runtime_of(worker.app)
        if runtime.ports.archiver is None:
            return None
        archive, notifications = runtime.ports.archiver.target, NotificationStreams(runtime.store.client)
        workspace = WorkspaceService(archive, notifications)

        def look() -> None:
            if archive.database.exists:
                workspace.fail_abandoned()

        return BackgroundLoop(self.what, look, interval_s=OVERDUE_CHECK_INTERVAL_S)
