"""Delivery queue of reports, and index of batch reviews for the sweep and for lists."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import ClassVar, cast

from pydantic import ValidationError

from ...models.errors import invalid_input
from ...models.text.ids import utcnow
from ...state.redis.due_index import DueIndex
from ...state.redis.keys import DELIVERIES, FAILED_DELIVERIES, REVIEWS, REVIEWS_DUE
from ...state.redis.readers import server_ms
from ..values.runs import DeliveryJob

log = logging.getLogger(__name__)

#: Maximum number of queued deliveries; the ones with the latest times are dropped first.
MOST = 10_000
#: Maximum number of listed failures, and seconds for which they are kept.
_MAX_FAILURES, _FAILURES_TTL_S = 100, 7 * 86_400


class DeliveryQueue(DueIndex):
    """Queued deliveries by the time of their next attempt. The client must decode responses."""

    KEY: ClassVar[str] = DELIVERIES

    def add_deliveries(self, jobs: Sequence[DeliveryJob]) -> None:
        """Add deliveries that are due now; deliveries already queued do not change."""
        now = server_ms(self._client)
        if jobs:
            self._client.zadd(DELIVERIES, {_text(job): now for job in jobs}, nx=True)
            self._client.zremrangebyrank(DELIVERIES, MOST, -1)

    def read(self, text: str) -> DeliveryJob | None:
        """Return a queued delivery; None: the entry cannot be read, and is removed."""
        try:
            return DeliveryJob.model_validate_json(text)
        except ValidationError as error:
            log.error("dropping malformed delivery: %s", invalid_input(error, "delivery"))
            self._client.zrem(DELIVERIES, text)
            return None

    def has(self, job: DeliveryJob) -> bool:
        """Return whether a delivery is queued."""
        return self._client.zscore(DELIVERIES, _text(job)) is not None

    def remove_delivery(self, job: DeliveryJob) -> None:
        """Remove a completed delivery."""
        self._client.zrem(DELIVERIES, _text(job))

    def retry_soon(self, job: DeliveryJob) -> None:
        """Schedule a delivery in one second, without counting an attempt."""
        self.reschedule(_text(job), server_ms(self._client) + 1_000)

    def retry_later(self, job: DeliveryJob, *, delay_ms: int) -> None:
        """Schedule a failed delivery in `delay_ms` milliseconds, and count the attempt."""
        again = job.model_copy(update={"failed": job.failed + 1})
        due_ms = server_ms(self._client) + delay_ms
        with self._client.pipeline(transaction=True) as both:
            both.zrem(DELIVERIES, _text(job))
            both.zadd(DELIVERIES, {_text(again): due_ms})
            both.execute()

    def give_up(self, job: DeliveryJob, why: str) -> None:
        """Remove a delivery that failed permanently, and list it for a week. `why` is one line without secrets."""
        record = f"{utcnow():%Y-%m-%d %H:%M} {job.to}, review {job.run}: {why}"
        self._client.lpush(FAILED_DELIVERIES, record)
        self._client.ltrim(FAILED_DELIVERIES, 0, _MAX_FAILURES - 1)
        self._client.expire(FAILED_DELIVERIES, _FAILURES_TTL_S)
        self.remove_delivery(job)

    def waiting(self) -> int:
        """Return the number of queued deliveries."""
        return int(self._client.zcard(DELIVERIES))

    def waiting_of(self, run: str) -> list[str]:
        """Return the names of the queued deliveries of a run."""
        queued = cast("list[str]", self._client.zrange(DELIVERIES, 0, -1))
        jobs = map(self.read, queued)
        return [job.to for job in jobs if job is not None and job.run == run]

    def failures_of(self, run: str) -> list[str]:
        """Return the deliveries of a run that failed permanently, one line each."""
        return [failure for failure in self.failures(count=_MAX_FAILURES) if f", review {run}: " in failure]

    def failures(self, *, count: int) -> list[str]:
        """Return the newest deliveries that failed permanently, one line each."""
        return [str(line) for line in self._client.lrange(FAILED_DELIVERIES, 0, count - 1)]


def _text(job: DeliveryJob) -> str:
    return job.model_dump_json()


#: Maximum number of listed batches; the newest are kept.
LISTED = 10_000
#: Milliseconds between two checks of a batch by the sweep.
BATCH_CHECK_MS = 5_000


class ReviewIndex(DueIndex):
    """Index of batches, with the time of the sweep's next check of each."""

    KEY: ClassVar[str] = REVIEWS_DUE

    def add_batch(self, batch_id: str, now_ms: int) -> None:
        """Add a batch to the index and to the list; it is checked soon."""
        self._client.zadd(REVIEWS_DUE, {batch_id: now_ms + BATCH_CHECK_MS}, lt=True)
        self._client.zadd(REVIEWS, {batch_id: now_ms}, nx=True)
        self._client.zremrangebyrank(REVIEWS, 0, -LISTED - 1)

    def remove_batch(self, batch_id: str) -> None:
        """Remove a batch that needs no more checks; it stays in the list."""
        self._client.zrem(REVIEWS_DUE, batch_id)

    def unlist(self, batch_ids: Sequence[str]) -> None:
        """Remove expired batches from the list."""
        if batch_ids:
            self._client.zrem(REVIEWS, *batch_ids)

    def listed(self, count: int, *, until_ms: int | None = None) -> list[tuple[str, int]]:
        """Return listed batches with the times at which they were listed, newest first.

        Args:
            count: Maximum number of batches.
            until_ms: Only batches listed until then, in milliseconds since the epoch; None: all.
        """
        newest = "+inf" if until_ms is None else until_ms
        pairs = self._client.zrevrangebyscore(REVIEWS, newest, "-inf", start=0, num=count, withscores=True)
        return [(str(name), int(at_ms)) for name, at_ms in cast("list[tuple[str, float]]", pairs)]

    def newest(self, *, count: int) -> list[str]:
        """Return the ids of listed batches, newest first."""
        return cast("list[str]", self._client.zrevrange(REVIEWS, 0, count - 1))
