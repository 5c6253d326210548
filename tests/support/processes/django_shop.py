"""A Django project whose Celery app has django-celery-beat and django-celery-results, with sessions as steps.

`DJANGO_SETTINGS_MODULE` names this module: its settings are here.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from celery import Celery, chain, chord

import symposia
from live import until
from scaling import patient

INSTALLED_APPS = ["django_celery_beat", "django_celery_results"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": "shop.sqlite3",
        "OPTIONS": {"timeout": 20},
    }
}
USE_TZ = True
CELERY_BROKER_URL = os.environ["SYMPOSIA_REDIS_URL"]
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_RESULT_BACKEND = "django-db"
CELERY_RESULT_EXTENDED = True
CELERY_TASK_DEFAULT_QUEUE = "shop"
CELERY_TASK_TRACK_STARTED = True
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"

app = Celery("shop")
app.config_from_object("django.conf:settings", namespace="CELERY")
symposia.install(app)


@app.task(name="shop.statuses")
def statuses(results: Any) -> list[str]:
    return [result["status"] for result in (results if isinstance(results, list) else [results])]


def step() -> Any:
    collab = {"title": "t", "purpose": "p", "mode": "round_robin", "participants": ["ann"]}
    return symposia.session.s(collab, agents={"ann": "echo"}, stop={"max_turns": 1})


def create_tables() -> None:
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def run_steps() -> None:
    """Print the results of a chain, of a chord, and of a step that the beat sends, and the tasks that have results."""
    from django_celery_beat.models import IntervalSchedule, PeriodicTask
    from django_celery_results.models import TaskResult

    canvases = (chain(step(), statuses.s()), chord([step(), step()], statuses.s()))
    results = [canvas.apply_async().get(timeout=patient(60)) for canvas in canvases]
    every = IntervalSchedule.objects.create(every=1, period="seconds")
    planned = {"args": json.dumps(step().args), "kwargs": json.dumps(step().kwargs), "one_off": True}
    PeriodicTask.objects.create(name="talk", interval=every, task="symposia.session", **planned)
    ended = TaskResult.objects.filter(periodic_task_name="talk", status="SUCCESS")
    until(ended.exists, what="the beat has sent a step, whose session has ended")
    results.append(statuses(json.loads(ended.get().result)))
    sys.stdout.write(json.dumps([*results, sorted({row.task_name for row in TaskResult.objects.all()})]))
