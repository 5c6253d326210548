"""Bootsteps of background loops: archive, deliveries, batch reviews, schedules, workspace tasks."""

from __future__ import annotations

import logging
import time
from typing import Any

from ...factories.installation import OVERDUE_CHECK_INTERVAL_S
from ...models.errors import ArchiveError
from ...reviews.batches.batch import sweep_batches
from ...reviews.batches.context import review_context_of
from ...reviews.delivery.celery_tasks import deliverer_of, send_due_deliveries
from ...reviews.schedules.celery_tasks import sweep_schedules
from ...state.notifications import NotificationStreams
from ...tasks.runtime.archiving import Archiver
from ...tasks.runtime.runtime import runtime_of
from ...tasks.workspace.service import WorkspaceService
from .background_loops import BackgroundLoop, LoopStep

log = logging.getLogger(__name__)

#: Maximum seconds between two checks for due sessions.
_LOOK_EVERY_S = 1.0
#: Seconds until the next attempt after a database failure: first and maximum.
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 30.0


class BackoffArchiver:
    """Archiver with exponential backoff for an unavailable database."""

    def __init__(self, archiver: Archiver) -> None:
        self._archiver = archiver
        self._pause_s = _FIRST_PAUSE_S
        self._not_before = 0.0

    def archive_due(self) -> None:
        """Archive due sessions, except during the backoff. Raises RedisUnavailable."""
        if time.monotonic() < self._not_before:
            return
        try:
            self._archiver.archive_due()
        except ArchiveError as error:
            log.warning("archiving failed, retrying in %g s: %s", self._pause_s, error)
            self._not_before = time.monotonic() + self._pause_s
            self._pause_s = min(self._pause_s * 2, _LONGEST_PAUSE_S)
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
        archiver = runtime_of(worker.app).archiver
        if archiver is None:
            return None
        interval_s = min(worker.app.conf.symposia_archive_interval_s, _LOOK_EVERY_S)
        return BackgroundLoop(self.what, BackoffArchiver(archiver).archive_due, interval_s=interval_s)


class DeliveryStep(LoopStep):
    """Bootstep that sends Celery tasks for pending deliveries."""

    what = "deliveries"

    def make_thread(self, worker: Any) -> BackgroundLoop:
        """Log problems of the destinations, and return the loop."""
        for problem in deliverer_of(worker.app).problems():
            log.warning("problem with deliveries, affected reports are not delivered: %s", problem)
        return self.sweep_interval_thread(worker, lambda: send_due_deliveries(worker.app))


class ReviewStep(LoopStep):
    """Bootstep that sends Celery tasks for overdue batches."""

    what = "reviews"

    def make_thread(self, worker: Any) -> BackgroundLoop:
        """Return the loop."""
        return self.sweep_interval_thread(worker, lambda: sweep_batches(review_context_of(worker.app)))


class ScheduleStep(LoopStep):
    """Bootstep that sends Celery tasks for overdue schedules."""

    what = "schedules"

    def make_thread(self, worker: Any) -> BackgroundLoop:
        """Return the loop."""
        return self.sweep_interval_thread(worker, lambda: sweep_schedules(worker.app))


class TaskStep(LoopStep):
    """Bootstep that fails tasks whose request ended before the verdict, if an archive is configured."""

    what = "tasks"

    def make_thread(self, worker: Any) -> BackgroundLoop | None:
        """Return the loop; it creates no database."""
        runtime = runtime_of(worker.app)
        if runtime.archiver is None:
            return None
        archive, board = runtime.archiver.target, NotificationStreams(runtime.store.client)
        turn_services = WorkspaceService(archive, board)

        def look() -> None:
            if archive.database.exists:
                turn_services.fail_abandoned()

        return BackgroundLoop(self.what, look, interval_s=OVERDUE_CHECK_INTERVAL_S)
