"""A worker's archiver: a thread that writes to the archive what sessions have become."""

from __future__ import annotations

import logging
import time
from typing import Any

from ..models.errors import ArchiveError
from ..tasks.archiving import Archiver
from ..tasks.runtime import runtime_of
from .rounds import RoundStep, RoundThread

log = logging.getLogger(__name__)

#: Seconds between two looks whether a session is due, at most.
_LOOK_EVERY_S = 1.0
#: Seconds a database that is away is left alone: first, and at most.
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 30.0


class PatientArchiver:
    """Archives; a database that is away is left alone, each time for twice as long."""

    def __init__(self, archiver: Archiver) -> None:
        self._archiver = archiver
        self._pause_s = _FIRST_PAUSE_S
        self._not_before = 0.0

    def round(self) -> None:
        """Archives what is due, or waits on. Raises RedisUnavailable."""
        if time.monotonic() < self._not_before:
            return
        try:
            self._archiver.round()
        except ArchiveError as error:
            log.warning("archiving put off for %g s: %s", self._pause_s, error)
            self._not_before = time.monotonic() + self._pause_s
            self._pause_s = min(self._pause_s * 2, _LONGEST_PAUSE_S)
        else:
            self._pause_s = _FIRST_PAUSE_S


class ArchiveStep(RoundStep):
    """Archives as long as the worker runs, where an archive is kept. What is not archived yet stays owed."""

    what = "archiving"

    def rounds(self, worker: Any) -> RoundThread | None:
        """Nothing is connected here: a database that is away keeps no worker from starting."""
        archiver = runtime_of(worker.app).archiver
        if archiver is None:
            return None
        interval_s = min(worker.app.conf.symposia_archive_interval_s, _LOOK_EVERY_S)
        return RoundThread(self.what, PatientArchiver(archiver).round, interval_s=interval_s)
