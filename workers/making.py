"""Makes Celery apps, without reading the environment: `app.py` does that for the one that workers run."""

from __future__ import annotations

from celery import Celery

from ..config.celery import celery_settings
from ..config.settings import Settings
from ..reviews.delivery.tasks import install_courier
from ..reviews.office import install_office
from ..reviews.schedule_tasks import install_keeper
from ..tasks.runtime import install
from .archiving import ArchiveStep
from .connection import broker_url_in_use, redis_url_in_use
from .conversations import TaskStep
from .delivering import DeliveryStep, build_courier
from .reviewing import ReviewStep, build_office
from .runtime import build_runtime, per_process
from .runtime_step import RuntimeStep
from .scheduling import ScheduleStep, build_keeper
from .sent_events import SentEventsStep
from .steps import SweepStep
from .taking import TakenStep


def create_app(settings: Settings) -> Celery:
    """An app of its own for these settings: what `app` is, and what tests make many of."""
    app = Celery("symposia", set_as_current=False, amqp="symposia.workers.transport:LeanMessages")
    app.config_from_object(celery_settings(settings, broker_url=broker_url_in_use(settings)))
    app.conf.include = [
        "symposia.tasks.celery_tasks",
        "symposia.reviews.schedule_tasks",
        "symposia.reviews.celery_tasks",
        "symposia.reviews.delivery.tasks",
    ]
    app.conf.symposia_sweep_interval_s = settings.sweep_interval_s
    # Names that workers announce, so that a schedule that uses another one is refused.
    app.conf.symposia_review_roots = tuple(settings.review_roots)
    app.conf.symposia_jobs = tuple(settings.jobs)
    app.conf.symposia_archive_interval_s = settings.archive_interval_s
    app.conf.worker_consumer = "symposia.workers.consumer:ReconnectingConsumer"
    app.steps["worker"].update(
        {ArchiveStep, DeliveryStep, ReviewStep, RuntimeStep, ScheduleStep, SweepStep, TaskStep}
    )
    app.steps["consumer"].update({SentEventsStep, TakenStep})
    install(app, per_process(lambda: build_runtime(app, settings, redis_url=redis_url_in_use(settings))))
    install_keeper(
        app, per_process(lambda: build_keeper(app, settings, redis_url=redis_url_in_use(settings)))
    )
    install_office(
        app, per_process(lambda: build_office(app, settings, redis_url=redis_url_in_use(settings)))
    )
    install_courier(
        app, per_process(lambda: build_courier(app, settings, redis_url=redis_url_in_use(settings)))
    )
    return app
