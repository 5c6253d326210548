"""Sweep of due schedules that no beat announced: a thread of every worker."""

from __future__ import annotations

from typing import Any

from ...reviews.schedules.celery_tasks import sweep_schedules
from .background_loops import BackgroundLoop, LoopStep


class ScheduleStep(LoopStep):
    """Announces overdue schedules while the worker runs."""

    what = "schedules"

    def make_thread(self, worker: Any) -> BackgroundLoop:
        """Return the thread."""
        return self.sweep_interval_thread(worker, lambda: sweep_schedules(worker.app))
