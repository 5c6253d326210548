"""Counters of events in dialog memories, for operators.

An event is counted in the process first, and written to Redis as soon as it answers, so counting costs a
turn as little as possible, and outages are counted as well.
"""

from __future__ import annotations

import threading
from collections import Counter
from enum import StrEnum
from typing import cast

from redis import Redis
from redis.exceptions import RedisError

from ...models.errors import StateError
from ..redis.keys import MEMORY_COUNTS

#: Seconds for which the counts are kept after the last counted event.
KEPT_S = 30 * 86_400


class MemoryEvent(StrEnum):
    """An event that is counted."""

    #: A stored state could not be read; it was dropped.
    CORRUPT = "corrupt"
    #: A stored state had expired; it was dropped.
    EXPIRED = "expired"
    #: A parameter was of the wrong type.
    INVALID = "invalid"
    #: A parameter was larger than the cap.
    TOO_LARGE = "oversized_parameters"
    #: A parameter was removed to make room for newer ones.
    EVICTED = "evicted"
    #: A turn ran without memory, or its memory could not be written.
    DEGRADED = "degraded"


class MemoryCounts:
    """Counters of one process that are not yet in Redis."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._pending: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, event: MemoryEvent, times: int = 1) -> None:
        """Count an event; never raises if Redis is unavailable."""
        with self._lock:
            self._pending[event.value] += times
        self.flush()

    def flush(self) -> None:
        """Write the counts that are only in memory, if Redis answers; never raises if it is unavailable."""
        if not self._pending:
            return
        with self._lock:
            sent, self._pending = self._pending, Counter()
        try:
            pipeline = self._client.pipeline(transaction=False)
            for name, number in sent.items():
                pipeline.hincrby(MEMORY_COUNTS, name, number)
            pipeline.expire(MEMORY_COUNTS, KEPT_S)
            pipeline.execute()
        except (RedisError, StateError, OSError):
            with self._lock:
                self._pending += sent

    def count_locally(self, event: MemoryEvent) -> None:
        """Count in memory only, while Redis is unavailable."""
        with self._lock:
            self._pending[event.value] += 1

    def all(self) -> dict[str, int]:
        """Return the counts of all processes, by event name. Raises RedisUnavailable."""
        found = cast("dict[str, str]", self._client.hgetall(MEMORY_COUNTS))
        with self._lock:
            return dict(Counter({name: int(number) for name, number in found.items()}) + self._pending)
