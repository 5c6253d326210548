"""Deliverer of reports that are due: a thread of every worker."""

from __future__ import annotations

import logging
from typing import Any

from ...reviews.delivery.celery_tasks import deliverer_of, send_due_deliveries
from .background_loops import BackgroundLoop, LoopStep

log = logging.getLogger(__name__)


class DeliveryStep(LoopStep):
    """Sends Celery tasks for pending deliveries."""

    what = "deliveries"

    def make_thread(self, worker: Any) -> BackgroundLoop:
        """Log problems of the destinations, and return the thread."""
        for problem in deliverer_of(worker.app).problems():
            log.warning("deliveries: %s", problem)
        return self.sweep_interval_thread(worker, lambda: send_due_deliveries(worker.app))
