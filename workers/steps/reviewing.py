"""Sweep of batch reviews that lost their message: a thread of every worker."""

from __future__ import annotations

from typing import Any

from ...reviews.batches.batch import sweep_batches
from ...reviews.batches.context import office_of
from .background_loops import RoundStep, RoundThread


class ReviewStep(RoundStep):
    """Sends messages for overdue batches while the worker runs."""

    what = "reviews"

    def rounds(self, worker: Any) -> RoundThread:
        """Return the thread."""
        return self.every_sweep(worker, lambda: sweep_batches(office_of(worker.app)))
