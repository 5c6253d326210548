"""The apps of the workers, by name: `celery -A harness.worker_apps:app worker`.

`app` runs turns, and bare tasks over the same transport; `plain` is Celery as it comes; `uncounted` runs turns without
counts for monitoring.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache

from celery import Celery

from harness.bare import Bare, create_plain_app
from symposia.client.building.connection import redis_url_in_use
from symposia.client.building.runtime import build_runtime
from symposia.config.settings import load_settings
from symposia.state.redis.connect import connect
from symposia.tasks.ports import NoMetrics
from symposia.tasks.runtime.runtime import Runtime, install_runtime
from symposia.workers.worker_app import create_worker_app

#: Variable that disables Celery's events with the value `off`.
EVENTS = "BENCH_EVENTS"

settings = load_settings()


def without_counting() -> Celery:
    """Return the app of the turns without the counts for monitoring."""
    made = create_worker_app(settings)

    @cache
    def runtime() -> Runtime:
        return replace(
            build_runtime(made, settings, redis_url=redis_url_in_use(settings)), metrics=NoMetrics()
        )

    install_runtime(made, runtime)
    return made


app = counted = create_worker_app(settings)
uncounted = without_counting()
plain = create_plain_app(settings)
for celery_app in (app, plain):
    if os.environ.get(EVENTS) == "off":
        celery_app.conf.update(worker_send_task_events=False, task_send_sent_event=False)
    Bare(celery_app, connect(redis_url_in_use(settings)))
