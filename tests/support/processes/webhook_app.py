"""A worker with webhooks that is killed at a boundary: `celery -A processes.webhook_app worker`.

A file `kill-at` in the data folder names the boundary, once: `after-commit` of the second turn, or one of the events or
deliveries of webhooks.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import symposia.client.building.webhooks as building
from symposia.client.building.connection import redis_url_in_use
from symposia.client.building.runtime import build_runtime, per_process
from symposia.client.webhooks.deliverer import WebhookDeliverer
from symposia.client.webhooks.events import WebhookEvents
from symposia.config.settings import load_settings
from symposia.tasks.runtime.runtime import Boundary, Runtime, install_runtime
from symposia.workers.worker_app import create_worker_app

settings = load_settings()
FOLDER = Path(os.environ["SYMPOSIA_DATA_DIR"])
#: Milliseconds of a claim, so that a test does not wait for that of a killed worker.
HOLD_MS = 4_000


def kill_once(boundary: str) -> None:
    order = FOLDER / "kill-at"
    with suppress(FileNotFoundError):
        if order.read_text() == boundary:
            order.unlink()
            os.kill(os.getpid(), signal.SIGKILL)


building.WebhookEvents = partial(WebhookEvents, fault_hook=kill_once)
building.WebhookDeliverer = partial(WebhookDeliverer, hold_ms=HOLD_MS, fault_hook=kill_once)
app = create_worker_app(settings)


def _kill_after_commit(boundary: Boundary, _session_id: str, number: int) -> None:
    if boundary is Boundary.AFTER_COMMIT and number == 2:
        kill_once(boundary)


def _runtime() -> Runtime:
    runtime = build_runtime(app, settings, redis_url=redis_url_in_use(settings))
    return replace(runtime, fault_hook=_kill_after_commit)


install_runtime(app, per_process(_runtime))
