"""A worker's archiver: a thread that writes to the archive what sessions have become."""

from __future__ import annotations

import logging
import threading
from typing import Any

from celery import bootsteps
from redis.exceptions import RedisError

from ..models.errors import ArchiveUnavailable
from ..tasks.archiving import Archiver
from ..tasks.runtime import runtime_of

log = logging.getLogger(__name__)

#: Seconds between two looks whether a session is due, at most.
_LOOK_EVERY_S = 1.0
#: Seconds a database that is away is left alone: first, and at most.
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 30.0


class ArchiveThread(threading.Thread):
    """Archives every `interval_s`; a database or a Redis that is away only delays it."""

    def __init__(self, archiver: Archiver, *, interval_s: float) -> None:
        super().__init__(name="symposia-archive", daemon=True)
        self._archiver = archiver
        self._interval_s = interval_s
        self._closed = threading.Event()

    def run(self) -> None:
        """Archives until `close`."""
        pause_s = _FIRST_PAUSE_S
        while True:
            wait_s = self._interval_s
            try:
                self._archiver.round()
                pause_s = _FIRST_PAUSE_S
            except ArchiveUnavailable as error:
                log.warning("archiving put off for %g s: %s", pause_s, error)
                wait_s, pause_s = pause_s, min(pause_s * 2, _LONGEST_PAUSE_S)
            except (RedisError, OSError) as error:
                log.warning("archiving put off: %s", error)
            except Exception:
                log.exception("archiving failed; it will be tried again")
            if self._closed.wait(wait_s):
                break

    def close(self) -> None:
        """Ends the thread after the round under way."""
        self._closed.set()


class ArchiveStep(bootsteps.StartStopStep):
    """Runs the archive thread as long as the worker runs, where an archive is kept."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, _worker: Any, **_options: Any) -> None:
        self._thread: ArchiveThread | None = None

    def start(self, worker: Any) -> None:
        """Nothing is connected here: a database that is away keeps no worker from starting."""
        archiver = runtime_of(worker.app).archiver
        if archiver is not None:
            self._thread = ArchiveThread(
                archiver, interval_s=min(worker.app.conf.symposia_archive_interval_s, _LOOK_EVERY_S)
            )
            self._thread.start()

    def stop(self, _worker: Any) -> None:
        """What is not archived yet stays owed."""
        if self._thread is not None:
            self._thread.close()

    def terminate(self, worker: Any) -> None:
        """The same in a cold shutdown."""
        self.stop(worker)
