"""Sweep of due schedules that no beat announced: a thread of every worker."""

from __future__ import annotations

from typing import Any

from ...reviews.schedules.celery_tasks import sweep_schedules
from .background_loops import RoundStep, RoundThread


class ScheduleStep(RoundStep):
    """Announces overdue schedules while the worker runs."""

    what = "schedules"

    def rounds(self, worker: Any) -> RoundThread:
        """Return the thread."""
        return self.every_sweep(worker, lambda: sweep_schedules(worker.app))
