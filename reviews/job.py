"""A batch review, in the hands of whoever started it."""

from __future__ import annotations

import time
from collections.abc import Callable

from redis.exceptions import RedisError

from ..models.errors import InvalidInput, ReviewNotFound, StateError
from ..models.review.runs import ReviewRun, RunState
from ..state.review_records import BatchView
from ..state.worker_watch import WorkerWatch
from .batch import go_on, stop
from .ending import read_run
from .office import Office

#: Seconds between two looks at how far it is.
_LOOK_EVERY_S = 0.2


class ReviewJob:
    """One batch: look at it, wait for it, cancel it, retry what failed. Every call reads it as it is now.

    All methods raise ReviewNotFound when it has expired, RedisUnavailable when Redis is away.
    """

    def __init__(
        self, batch_id: str, office: Office, *, watch_workers: Callable[[str], WorkerWatch] | None = None
    ) -> None:
        """`watch_workers`: makes what warns while somebody waits and no worker is running; None: nothing does."""
        self.id = batch_id
        self._office = office
        self._watch_workers = watch_workers

    def __repr__(self) -> str:
        return f"ReviewJob({self.id!r})"

    def progress(self) -> BatchView:
        """How far it is."""
        return self._office.store.view(self.id)

    def run(self) -> ReviewRun:
        """What came of it so far: results, findings, what was spent."""
        try:
            return read_run(self._office, self.id)
        except (ReviewNotFound, StateError, RedisError):
            archive = self._office.archive
            if archive is None or archive.to_read() is None or not archive.review_reader.ids(self.id):
                raise
            return archive.review_reader.run(self.id)

    def result(
        self, timeout: float | None = None, *, on_progress: Callable[[BatchView], None] = lambda _: None
    ) -> ReviewRun:
        """Wait for the end; `on_progress` gets the progress again and again. Logs a warning when no worker is running.

        Args:
            timeout: seconds; None: as long as it takes.
            on_progress: may raise, which ends the waiting; the batch goes on.

        Raises:
            TimeoutError: it goes on.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        watch = self._watch_workers and self._watch_workers(f"review {self.id}")
        while not (view := self.progress()).has_ended:
            if watch is not None:
                watch.look()
            on_progress(view)
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"review {self.id!r} has not ended within {timeout:g} s; it goes on")
            time.sleep(_LOOK_EVERY_S)
        on_progress(view)
        return self.run()

    def cancel(self, reason: str = "cancelled") -> bool:
        """Ends it with what was found so far. False: it has ended before."""
        return stop(self._office, self.id, RunState.CANCELLED, reason)

    def retry(self) -> int:
        """Has the items reviewed once more that failed or never began, and no others. Answers how many.

        Raises:
            InvalidInput: it has not ended.
        """
        count = self._office.store.retry(self.id)
        if count is None:
            raise InvalidInput("review", self.id, "must have ended before its items are retried")
        if count:
            self._office.index.add(self.id, self._office.store.now_ms())
            go_on(self._office, self.id)
        return count
