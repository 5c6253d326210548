"""The list of reviews, newest first, and the job of one: progress, result, cancel, retry."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from operator import itemgetter

from redis.exceptions import RedisError

from ..archive.results import MAX_PAGE_SIZE, ResultPage, decode_cursor, encode_cursor
from ..models.errors import InvalidInput, ReviewNotFound, StateError
from ..models.text.ids import timestamp_from_ms
from ..state.redis.readers import Unreadable, read_record
from ..state.worker_routes import WorkerWatch
from .archive.access import review_reader
from .batches.batch import advance_batch, stop_batch
from .batches.completion import read_run
from .batches.context import ReviewContext
from .state.records import BatchView
from .values.runs import ListedReview, ReviewRun, RunState

#: Further reviews that are read for a page, because some of the same millisecond may be on the page before.
_EXTRA = 20
#: State of a review that cannot be read.
UNREADABLE = "unreadable"
#: States of items, as fields of `BatchView`.
_ITEM_STATES = ("waiting", "running", "done", "failed", "unchanged", "cancelled")


#: Time (milliseconds since the epoch) and id, by which reviews are sorted.
_Key = tuple[int, str]


def review_page(context: ReviewContext, *, limit: int, after: str | None = None) -> ResultPage[ListedReview]:
    """Return reviews after a cursor, newest first; without Redis archived ones, without an archive live ones only."""
    last = None if after is None else _read_cursor(after)
    pairs = _archived(context, limit + _EXTRA, last)
    archived_ids = {review.id for _, review in pairs}
    with suppress(StateError, RedisError):
        pairs += [pair for pair in _live(context, limit + _EXTRA, last) if pair[1].id not in archived_ids]
    later = sorted(
        (pair for pair in pairs if last is None or pair[0] < last), key=itemgetter(0), reverse=True
    )
    page = later[:limit]
    cursor = encode_cursor(*page[-1][0]) if len(later) > limit else None
    return ResultPage(tuple(review for _, review in page), cursor)


def _read_cursor(cursor: str) -> _Key:
    at_ms, review_id = decode_cursor(cursor, int, str)
    return at_ms, review_id


def _archived(context: ReviewContext, limit: int, last: _Key | None) -> list[tuple[_Key, ListedReview]]:
    archive = context.archive
    if archive is None or archive.open_reader() is None:
        return []
    runs = review_reader(archive).listed(min(limit, MAX_PAGE_SIZE), until_ms=last and last[0])
    return [((at_ms, review.id), review) for at_ms, review in runs]


def _live(context: ReviewContext, limit: int, last: _Key | None) -> list[tuple[_Key, ListedReview]]:
    pairs, expired = [], list[str]()
    for batch_id, listed_ms in context.index.listed(limit, until_ms=None if last is None else last[0]):
        try:
            row = read_record("review", batch_id, partial(_of_batch, context, batch_id))
        except ReviewNotFound:
            expired.append(batch_id)
            continue
        if isinstance(row, Unreadable):
            row = ListedReview(
                batch_id, "", "", UNREADABLE, timestamp_from_ms(listed_ms), items={}, findings={}
            )
        pairs.append(((listed_ms, batch_id), row))
    context.index.unlist(expired)
    return pairs


def _of_batch(context: ReviewContext, batch_id: str) -> ListedReview:
    view, head = context.store.view(batch_id), context.store.head(batch_id)
    return ListedReview(
        id=batch_id,
        root_name=head.root_name,
        panel=head.panel.name,
        state=view.state,
        started=timestamp_from_ms(view.started_ms),
        items={name: count for name in _ITEM_STATES if (count := getattr(view, name))},
        findings={},
        tokens=view.spent_tokens,
        cost_micros=view.spent_cost_micros,
    )


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
