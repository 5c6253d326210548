"""The global indexes of batch reviews: by due time, for the sweep, and by starting time, for people.

Like those of sessions they live in slots of their own: hints that err on the early side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from .keys import REVIEWS, REVIEWS_DUE
from .timetable import Timetable

#: The listing keeps this many of the newest batches.
LISTED = 10_000
#: Milliseconds between two looks of the sweep at a batch.
LOOK_MS = 5_000


class ReviewIndex(Timetable):
    """Which batches there are, and when the sweep should look at each."""

    KEY: ClassVar[str] = REVIEWS_DUE

    def add(self, batch_id: str, now_ms: int) -> None:
        """Enters a batch, to be looked at soon."""
        self._client.zadd(REVIEWS_DUE, {batch_id: now_ms + LOOK_MS}, lt=True)
        self._client.zadd(REVIEWS, {batch_id: now_ms}, nx=True)
        self._client.zremrangebyrank(REVIEWS, 0, -LISTED - 1)

    def settle(self, batch_id: str) -> None:
        """Nobody need look at it any more."""
        self._client.zrem(REVIEWS_DUE, batch_id)

    def unlist(self, batch_ids: Sequence[str]) -> None:
        """Takes batches that have expired off the listing."""
        if batch_ids:
            self._client.zrem(REVIEWS, *batch_ids)

    def newest(self, *, count: int) -> list[str]:
        """Ids of batches, newest first."""
        return cast("list[str]", self._client.zrevrange(REVIEWS, 0, count - 1))
