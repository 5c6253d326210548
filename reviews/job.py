"""Job of a batch review: progress, result, cancel, retry."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from redis.exceptions import RedisError

from ..models.errors import InvalidInput, ReviewNotFound, StateError
from ..state.worker_routes import WorkerWatch
from .archive.access import review_reader
from .batches.batch import advance_batch, stop_batch
from .batches.completion import read_run
from .batches.context import ReviewContext
from .state.records import BatchView
from .values.runs import ReviewRun, RunState

#: Seconds between two reads of the progress.
_LOOK_EVERY_S = 0.2


class ReviewJob:
    """One batch review. Every call reads its current state.

    All methods raise ReviewNotFound when it has expired, RedisUnavailable when Redis does not answer, and
    ClientClosed when the client is closed.
    """

    def __init__(
        self,
        batch_id: str,
        review_context: ReviewContext,
        *,
        watch_workers: Callable[[str], WorkerWatch] | None = None,
    ) -> None:
        """`watch_workers`: factory of the warning that no worker is running, for waiting calls.

        None: no warning.
        """
        self.id = batch_id
        self._context = review_context
        self._watch_workers = watch_workers

    def __repr__(self) -> str:
        return f"ReviewJob({self.id!r})"

    def progress(self) -> BatchView:
        """Return the progress."""
        return self._context.store.view(self.id)

    def run(self) -> ReviewRun:
        """Return results, findings and cost so far."""
        try:
            return read_run(self._context, self.id)
        except (ReviewNotFound, StateError, RedisError):
            archive = self._context.archive
            if archive is None or archive.open_reader() is None or not review_reader(archive).ids(self.id):
                raise
            return review_reader(archive).run(self.id)

    def follow(self, timeout: float | None = None) -> Iterator[BatchView]:
        """Yield the progress until the review has ended; log a warning when no worker is running.

        Args:
            timeout: Seconds to wait. None: no limit.

        Yields:
            The progress, five times per second, and at the end.

        Raises:
            TimeoutError: The review has not ended in time; it continues.
            ReviewNotFound: There is no such review, or it has expired.
            RedisUnavailable: Redis does not answer.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        watch = self._watch_workers and self._watch_workers(f"review {self.id}")
        while not (view := self.progress()).has_ended:
            if watch is not None:
                watch.check()
            yield view
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"review {self.id!r} did not end within {timeout:g} s; it keeps running")
            time.sleep(_LOOK_EVERY_S)
        yield view

    def result(
        self, timeout: float | None = None, *, on_progress: Callable[[BatchView], None] = lambda _: None
    ) -> ReviewRun:
        """Wait for the end of the review; log a warning when no worker is running.

        Args:
            timeout: Seconds to wait. None: no limit.
            on_progress: Callback with the progress, five times per second. It may raise to end the waiting;
                the review continues.

        Returns:
            Results, findings and cost.

        Raises:
            TimeoutError: The review has not ended in time; it continues.
            ReviewNotFound: There is no such review, or it has expired.
            RedisUnavailable: Redis does not answer.
        """
        for view in self.follow(timeout):
            on_progress(view)
        return self.run()

    def cancel(self, reason: str = "cancelled") -> bool:
        """Cancel the review, and keep the findings so far.

        Args:
            reason: Reason that is recorded with the end of the review.

        Returns:
            False: it had already ended.
        """
        return stop_batch(self._context, self.id, RunState.CANCELLED, reason)

    def retry(self) -> int:
        """Review again the items that failed or never started.

        Returns:
            The number of these items.

        Raises:
            InvalidInput: The review has not ended.
        """
        count = self._context.store.retry(self.id)
        if count is None:
            raise InvalidInput(
                "review",
                self.id,
                "must have ended before its items are retried: wait for its end, or cancel it",
            )
        if count:
            self._context.index.add_batch(self.id, self._context.store.now_ms())
            advance_batch(self._context, self.id)
        return count
