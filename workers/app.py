"""The Celery app.

celery -A symposia.workers worker          # as any Celery user expects
symposia worker                            # the same, with this project's defaults
"""

from __future__ import annotations

from celery import Celery

from ..config.celery import celery_settings
from ..config.settings import Settings, load_settings
from ..tasks.runtime import install
from .connection import broker_url_in_use, redis_url_in_use
from .runtime import build_runtime, per_process
from .steps import RuntimeStep, SweepStep


def create_app(settings: Settings) -> Celery:
    """An app of its own for these settings: what `app` is, and what tests make many of."""
    app = Celery("symposia", set_as_current=False)
    app.config_from_object(celery_settings(settings, broker_url=broker_url_in_use(settings)))
    app.conf.include = ["symposia.tasks.celery_tasks"]
    app.conf.symposia_sweep_interval_s = settings.sweep_interval_s
    app.steps["worker"].update({RuntimeStep, SweepStep})
    install(app, per_process(lambda: build_runtime(app, settings, redis_url=redis_url_in_use(settings))))
    return app


app = create_app(load_settings())
