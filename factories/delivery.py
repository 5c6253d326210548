"""Builder of the delivery of review reports."""

from __future__ import annotations

from functools import cache, partial

from celery import Celery

from ..config.settings import Settings, read_variable
from ..models.review.runs import ReviewRun
from ..reviews.batches.context import review_context_of
from ..reviews.delivery.deliverer import Deliverer
from ..reviews.delivery.destinations import Destinations
from ..reviews.job import ReviewJob
from ..state.redis.connect import connect
from ..state.reviews.delivery_queue import DeliveryQueue
from .sessions import Sessions


def load_deliveries(settings: Settings) -> Destinations:
    """Return the configured deliveries. Raises InvalidInput, which names file, field and rule."""
    return Destinations.load(settings.deliveries_file, getenv=read_variable)


def build_deliverer(app: Celery, settings: Settings, *, redis_url: str) -> Deliverer:
    """Return the deliverer of reports of a process. Connects lazily."""

    def read_run(run_id: str) -> ReviewRun:
        return ReviewJob(run_id, review_context_of(app)).run()

    def transcript(session_id: str) -> str:
        return Sessions(settings, app).get(session_id).transcript()

    return Deliverer(
        cache(partial(load_deliveries, settings)),
        DeliveryQueue(connect(redis_url)),
        read_run=read_run,
        transcript=transcript,
    )
