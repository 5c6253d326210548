"""Deliverer of reports that are due: a thread of every worker."""

from __future__ import annotations

import logging
from typing import Any

from ...reviews.delivery.celery_tasks import courier_of, send_errands
from .background_loops import RoundStep, RoundThread

log = logging.getLogger(__name__)


class DeliveryStep(RoundStep):
    """Sends Celery tasks for pending deliveries."""

    what = "deliveries"

    def rounds(self, worker: Any) -> RoundThread:
        """Log problems of the destinations, and return the thread."""
        for problem in courier_of(worker.app).problems():
            log.warning("deliveries: %s", problem)
        return self.every_sweep(worker, lambda: send_errands(worker.app))
