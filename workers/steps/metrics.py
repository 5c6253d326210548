"""Bootstep that serves the metrics over HTTP, and the write of the last counts of a process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from celery import bootsteps
from celery.signals import worker_process_shutdown, worker_shutdown

from ...models.errors import SymposiaError
from ...models.extras import Needed
from ...tasks.ports import MetricSink
from ...tasks.runtime.runtime import runtime_of
from .background_loops import BackgroundLoop, RuntimeStep, end_worker

log = logging.getLogger(__name__)

#: Seconds between two writes of counts.
_FLUSH_EVERY_S = 1.0


class MetricsStep(bootsteps.StartStopStep):
    """Bootstep that serves the metrics, if the settings have a port for them."""

    requires = (RuntimeStep,)

    def __init__(self, _worker: Any, **_options: Any) -> None:
        self._closed_by: list[Callable[[], None]] = []

    def start(self, worker: Any) -> None:
        """Start the server, or end the worker with one line if the port cannot be used."""
        port, address = worker.app.conf.symposia_metrics_port, worker.app.conf.symposia_metrics_address
        if port is None:
            return
        runtime = runtime_of(worker.app)
        try:
            with Needed("serving metrics"):  # other workers need not import the library
                from ..metrics.serving import export_metrics, serve_metrics
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
