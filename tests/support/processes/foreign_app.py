"""An application with messages, queue and tasks of its own, on which Symposia is installed: `-A processes.foreign_app`."""

from __future__ import annotations

import json
import os

from celery import Celery

import symposia
from symposia.config.celery import to_celery_url

_broker = to_celery_url(os.environ.get("SYMPOSIA_BROKER_URL") or os.environ["SYMPOSIA_REDIS_URL"])
app = Celery("shop", broker=_broker, backend=os.environ.get("SHOP_BACKEND"), set_as_current=False)
app.conf.update(
    task_default_queue="shop",
    task_serializer="yaml",
    result_serializer="yaml",
    accept_content=["yaml"],
    task_compression="zlib",
    worker_send_task_events=True,
    task_send_sent_event=True,
    broker_connection_retry_on_startup=True,
    worker_prefetch_multiplier=1,  # docs/celery.md says why
)
if route := os.environ.get("SHOP_ROUTE"):
    app.conf.task_routes = {"symposia.*": {"queue": route}}
app.conf.update(json.loads(os.environ.get("SHOP_CONF", "{}")))
if seconds := os.environ.get("SHOP_SCHEDULE"):
    app.conf.beat_schedule = {"size": {"task": "shop.size", "schedule": float(seconds), "args": ["x"]}}
symposia.install(app)


@app.task(name="shop.size")
def size(text: str) -> int:
    return len(text)
