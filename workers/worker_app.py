"""The Celery app of a worker, and the redaction of secrets in its log.

This module does not read the settings; `app.py` does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from celery import Celery
from celery.signals import after_setup_logger, after_setup_task_logger

from ..config.settings import Settings
from ..factories.app import create_app
from ..factories.connection import redis_url_in_use
from ..factories.runtime import build_runtime, per_process
from ..factories.schedules import build_schedule_runner
from ..models.text.redact import HIDDEN, without_password
from ..patches.celery_consumer import install_cancel_turns
from ..patches.celery_events import SentEventsStep
from ..reviews.schedules.celery_tasks import install_schedule_runner
from ..tasks.runtime.runtime import install_runtime, runtime_of
from .steps.background_loops import RuntimeStep
from .steps.loops import ArchiveStep, DeliveryStep, ReviewStep, ScheduleStep, TaskStep
from .steps.sweep import SentTimeStep, SweepStep


def create_worker_app(settings: Settings) -> Celery:
    """Return an app that runs Celery tasks, with their modules and the bootsteps of a worker."""
    app = create_app(settings)
    app.conf.include = [
        "symposia.tasks.celery_tasks",
        "symposia.reviews.schedules.celery_tasks",
        "symposia.reviews.batches.celery_tasks",
        "symposia.reviews.delivery.celery_tasks",
    ]
    app.conf.symposia_sweep_interval_s = settings.sweep_interval_s
    # Workers announce these names. A schedule that uses another name is refused.
    app.conf.symposia_review_roots = tuple(settings.review_roots)
    app.conf.symposia_jobs = tuple(settings.jobs)
    app.conf.symposia_archive_interval_s = settings.archive_interval_s
    app.conf.worker_consumer = "symposia.patches.celery_consumer:ReconnectingConsumer"
    install_cancel_turns(app, lambda: runtime_of(app).leases.cancel_all())  # noqa: PLW0108 - built later
    app.steps["worker"].update(
        {ArchiveStep, DeliveryStep, ReviewStep, RuntimeStep, ScheduleStep, SweepStep, TaskStep}
    )
    app.steps["consumer"].update({SentEventsStep, SentTimeStep})
    install_runtime(
        app, per_process(lambda: build_runtime(app, settings, redis_url=redis_url_in_use(settings)))
    )
    install_schedule_runner(
        app, per_process(lambda: build_schedule_runner(app, settings, redis_url=redis_url_in_use(settings)))
    )
    return app


_FORMATTER = logging.Formatter()


class Redaction(logging.Filter):
    """Logging filter that hides secrets, and passwords in URLs, in messages and tracebacks.

    Args:
        secrets: Values that must not appear in logs.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the record, and accept it."""
        record.msg, record.args = self.redact_text(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = _FORMATTER.formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = self.redact_text(record.exc_text)
        return True

    def redact_text(self, text: str) -> str:
        """Return `text` without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return without_password(text)


def redact_logs(secrets: Iterable[str]) -> None:
    """Add a `Redaction` to the handlers that Celery sets up in this process."""
    redaction = Redaction(secrets)

    def redact(*, logger: logging.Logger, **_: Any) -> None:
        for handler in logger.handlers:
            handler.addFilter(redaction)

    after_setup_logger.connect(redact, weak=False)
    after_setup_task_logger.connect(redact, weak=False)
