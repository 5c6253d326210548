"""Bootsteps for monitoring: a file that a healthy worker touches, and its metrics over HTTP.

Health checks of the file cost nothing: `test` and `find` read it. A worker is healthy while its consumer's loop runs and
Redis answers its sweep. In an outage of the broker the consumer has no loop, so nothing touches the file.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from celery import bootsteps
from celery.signals import worker_process_shutdown, worker_shutdown

from ...config.settings import Settings
from ...models.errors import SymposiaError
from ...models.extras import Needed
from ...models.text.paths import make_private_folder
from ...tasks.ports import MetricSink
from ...tasks.runtime.runtime import runtime_of
from .background_loops import BackgroundLoop
from .startup import RuntimeStep, end_worker

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
        self._file = health_file(consumer.app.symposia_settings.data_dir)
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


#: Seconds between two writes of counts.
_FLUSH_EVERY_S = 1.0


class MetricsStep(bootsteps.StartStopStep):
    """Bootstep that serves the metrics, if the settings have a port for them."""

    requires = (RuntimeStep,)

    def __init__(self, _worker: Any, **_options: Any) -> None:
        self._closed_by: list[Callable[[], None]] = []

    def start(self, worker: Any) -> None:
        """Start the server, or end the worker with one line if the port cannot be used."""
        settings: Settings = worker.app.symposia_settings
        port, address = settings.metrics_port, settings.metrics_address
        if port is None:
            return
        runtime = runtime_of(worker.app)
        try:
            with Needed("serving metrics"):  # other workers need not import the library
                from ..metrics import export_metrics, serve_metrics
            close = serve_metrics(address, port)
        except SymposiaError as error:
            end_worker(error)
        withdraw = export_metrics(runtime.store.client, stuck_after_ms=runtime.limits.stuck_after_ms)
        self._closed_by = [close, withdraw]
        log.info("metrics are served at http://%s:%d/metrics", address, port)

    def stop(self, _worker: Any) -> None:
        """Stop the server."""
        while self._closed_by:
            self._closed_by.pop(0)()

    def terminate(self, worker: Any) -> None:
        """Stop the server in a cold shutdown too."""
        self.stop(worker)


def write_counts(metrics: MetricSink) -> None:
    """Write the counts of this process in the background.

    The last ones are written when the worker, or this process of its pool, has run its last turn.
    """
    BackgroundLoop("metrics", metrics.flush, interval_s=_FLUSH_EVERY_S).start()

    def flush(**_: Any) -> None:
        metrics.flush()

    worker_shutdown.connect(flush, weak=False)
    worker_process_shutdown.connect(flush, weak=False)
