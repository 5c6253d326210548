"""File that a healthy worker touches, for health checks that cost nothing: `test` and `find` read it.

A worker is healthy while its consumer's loop runs and Redis answers its sweep. In an outage of the broker the consumer
has no loop, so nothing touches the file.
"""

from __future__ import annotations

import logging
import socket
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from celery import bootsteps

from ...models.text.paths import make_private_folder

log = logging.getLogger(__name__)

_CANNOT_WRITE = "health file cannot be written, health checks will fail: %s"
#: Seconds between two touches. Health checks call a file that is older than 30 s dead.
_TOUCH_EVERY_S = 5.0
#: Seconds since the last complete sweep in which a worker is healthy.
_SWEEP_WITHIN_S = 20.0


def health_file(data_dir: Path) -> Path:
    """Return the file of the workers of this host; containers may share the folder."""
    return data_dir / f"worker-{socket.gethostname()}.alive"


class HealthStep(bootsteps.StartStopStep):
    """Bootstep of the consumer that touches the file; processes of one host touch the same one."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, consumer: Any, **options: Any) -> None:
        super().__init__(consumer, **options)
        self._file = health_file(consumer.app.conf.symposia_data_dir)
        self._timer: Any = None

    def start(self, consumer: Any) -> None:
        """Touch the file at intervals, in the consumer's loop; a lost connection starts this again."""
        self._cancel()
        # One of an earlier process must not count. An error here would be taken for a lost broker.
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
        try:
            make_private_folder(self._file.parent)
        except OSError as error:
            log.warning(_CANNOT_WRITE, error)
        self._timer = consumer.timer.call_repeatedly(
            _TOUCH_EVERY_S, partial(self._touch, consumer.controller)
        )

    def stop(self, _consumer: Any) -> None:
        """Stop touching the file, and remove it."""
        self._cancel()
        with suppress(OSError):
            self._file.unlink(missing_ok=True)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _touch(self, worker: Any) -> None:
        if time.monotonic() - getattr(worker, "symposia_swept_at", 0.0) < _SWEEP_WITHIN_S:
            try:
                self._file.touch()
            except OSError as error:
                log.warning(_CANNOT_WRITE, error)
