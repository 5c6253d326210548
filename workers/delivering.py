"""What workers have to do with the delivery of reports: who delivers, and a thread that looks for what is owed."""

from __future__ import annotations

import logging
from functools import cache, partial
from typing import Any

from celery import Celery

from ..config.settings import Settings, variable
from ..models.review.runs import ReviewRun
from ..reviews.delivery.book import Deliveries
from ..reviews.delivery.courier import Courier
from ..reviews.delivery.tasks import courier_of, send_errands
from ..reviews.job import ReviewJob
from ..reviews.office import office_of
from ..state.connect import connect
from ..state.errands import ErrandIndex
from .rounds import RoundStep, RoundThread

log = logging.getLogger(__name__)


def load_deliveries(settings: Settings) -> Deliveries:
    """Where reports may go. Raises InvalidInput, which says file, field and rule."""
    return Deliveries.load(settings.deliveries_file, getenv=variable)


def build_courier(app: Celery, settings: Settings, *, redis_url: str) -> Courier:
    """Who delivers reports in a process. Connects lazily."""

    def read_run(run_id: str) -> ReviewRun:
        return ReviewJob(run_id, office_of(app)).run()

    def transcript(session_id: str) -> str:
        from ..client import Client

        return Client(settings, app=app).get_job(session_id).transcript()

    return Courier(
        cache(partial(load_deliveries, settings)),
        ErrandIndex(connect(redis_url)),
        read_run=read_run,
        transcript=transcript,
    )


class DeliveryStep(RoundStep):
    """Sends word of reports that are still to be delivered."""

    what = "deliveries"

    def rounds(self, worker: Any) -> RoundThread:
        """Tells at once what would make deliveries fail."""
        for problem in courier_of(worker.app).problems():
            log.warning("deliveries: %s", problem)
        return self.every_sweep(worker, lambda: send_errands(worker.app))
