"""Archiver of a worker: a thread that writes changes of sessions to the archive."""

from __future__ import annotations

import logging
import time
from typing import Any

from ...models.errors import ArchiveError
from ...tasks.runtime.archiving import Archiver
from ...tasks.runtime.runtime import runtime_of
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
        """Archive what is due, unless the backoff lasts. Raises RedisUnavailable."""
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
    """Archives while the worker runs, if an archive is configured. Pending sessions stay in the archive queue."""

    what = "archiving"

    def make_thread(self, worker: Any) -> BackgroundLoop | None:
        """Return the thread. It connects later, so an unavailable database does not stop the start of the worker."""
        archiver = runtime_of(worker.app).archiver
        if archiver is None:
            return None
        interval_s = min(worker.app.conf.symposia_archive_interval_s, _LOOK_EVERY_S)
        return BackgroundLoop(self.what, BackoffArchiver(archiver).archive_due, interval_s=interval_s)
