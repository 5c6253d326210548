"""Builder of the delivery of review reports."""

from __future__ import annotations

from functools import cache, partial

from celery import Celery

from ..config.settings import Settings, variable
from ..models.review.runs import ReviewRun
from ..reviews.batches.context import office_of
from ..reviews.delivery.deliverer import Courier
from ..reviews.delivery.destinations import Deliveries
from ..reviews.job import ReviewJob
from ..state.redis.connect import connect
from ..state.reviews.delivery_queue import ErrandIndex
from .sessions import Sessions


def load_deliveries(settings: Settings) -> Deliveries:
    """Return the configured deliveries. Raises InvalidInput, which names file, field and rule."""
    return Deliveries.load(settings.deliveries_file, getenv=variable)


def build_courier(app: Celery, settings: Settings, *, redis_url: str) -> Courier:
    """Return the deliverer of reports of a process. Connects lazily."""

    def read_run(run_id: str) -> ReviewRun:
        return ReviewJob(run_id, office_of(app)).run()

    def transcript(session_id: str) -> str:
        return Sessions(settings, app).get(session_id).transcript()

    return Courier(
        cache(partial(load_deliveries, settings)),
        ErrandIndex(connect(redis_url)),
        read_run=read_run,
        transcript=transcript,
    )
