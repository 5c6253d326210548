"""A worker that is killed once at a boundary of a notice: `celery -A processes.notice_app worker`.

The file `kill-at` in the data folder names the boundary.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from symposia.client.building.connection import connect_in_use
from symposia.client.notices import senders
from symposia.client.notices.service import Notifier, install_notifier
from symposia.config.settings import load_settings
from symposia.tasks.runtime.runtime import runtime_of
from symposia.workers.worker_app import create_worker_app

settings = load_settings()
app = create_worker_app(settings)
senders.TIMEOUT_S = 2  # the lease is twice as long


def kill_once(boundary: str) -> None:
    order = Path(os.environ["SYMPOSIA_DATA_DIR"]) / "kill-at"
    with suppress(FileNotFoundError):
        if order.read_text() == boundary:
            order.unlink()
            os.kill(os.getpid(), signal.SIGKILL)


notifier = Notifier(
    connect_in_use(settings), settings, lambda: runtime_of(app).agents.registry.people, fault_hook=kill_once
)
install_notifier(app, notifier)
