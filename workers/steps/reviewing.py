"""Sweep of batch reviews that lost their message: a thread of every worker."""

from __future__ import annotations

from typing import Any

from ...reviews.batches.batch import sweep_batches
from ...reviews.batches.context import review_context_of
from .background_loops import BackgroundLoop, LoopStep


class ReviewStep(LoopStep):
    """Sends messages for overdue batches while the worker runs."""

    what = "reviews"

    def make_thread(self, worker: Any) -> BackgroundLoop:
        """Return the thread."""
        return self.sweep_interval_thread(worker, lambda: sweep_batches(review_context_of(worker.app)))
