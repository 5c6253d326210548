"""Global indexes of batch reviews: by due time, for the sweep, and by starting time, for people.

Like those of sessions they are in slots of their own: hints whose times are never too late.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from ..redis.due_index import DueIndex
from ..redis.keys import REVIEWS, REVIEWS_DUE

#: Maximum number of listed batches; the newest are kept.
LISTED = 10_000
#: Milliseconds between two checks of a batch by the sweep.
BATCH_CHECK_MS = 5_000


class ReviewIndex(DueIndex):
    """Index of batches, with the time of the sweep's next check of each."""

    KEY: ClassVar[str] = REVIEWS_DUE

    def add_batch(self, batch_id: str, now_ms: int) -> None:
        """Add a batch, to be checked soon."""
        self._client.zadd(REVIEWS_DUE, {batch_id: now_ms + BATCH_CHECK_MS}, lt=True)
        self._client.zadd(REVIEWS, {batch_id: now_ms}, nx=True)
        self._client.zremrangebyrank(REVIEWS, 0, -LISTED - 1)

    def remove_batch(self, batch_id: str) -> None:
        """Remove it: no more checks are needed."""
        self._client.zrem(REVIEWS_DUE, batch_id)

    def unlist(self, batch_ids: Sequence[str]) -> None:
        """Remove expired batches from the listing."""
        if batch_ids:
            self._client.zrem(REVIEWS, *batch_ids)

    def newest(self, *, count: int) -> list[str]:
        """Return ids of batches, newest first."""
        return cast("list[str]", self._client.zrevrange(REVIEWS, 0, count - 1))
