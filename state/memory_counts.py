"""How often what happened to dialog memories: counted where an operator can see it.

Counted in the process first, and written to Redis as soon as it answers, so that counting never
costs a turn more than it must, and an outage is counted as well.
"""

from __future__ import annotations

import threading
from collections import Counter
from enum import StrEnum
from typing import cast

from redis import Redis
from redis.exceptions import RedisError

from ..models.errors import StateError
from .keys import MEMORY_COUNTS

#: Seconds the counts are kept after the last thing that was counted.
KEPT_S = 30 * 86_400


class MemoryEvent(StrEnum):
    """What is counted."""

    #: A stored state could not be read; it was dropped.
    CORRUPT = "corrupt"
    #: A stored state had outlived its time; it was dropped.
    EXPIRED = "expired"
    #: A parameter was of the wrong type.
    INVALID = "invalid"
    #: A parameter was larger than the cap.
    TOO_LARGE = "too_large"
    #: A parameter had to go for newer ones.
    EVICTED = "evicted"
    #: A turn ran without memory, or its memory could not be written.
    DEGRADED = "degraded"


class MemoryCounts:
    """The counts of one process, on their way to Redis."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._pending: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, event: MemoryEvent, times: int = 1) -> None:
        """Counts; never raises for Redis being away."""
        with self._lock:
            self._pending[event.value] += times
        self.deliver()

    def deliver(self) -> None:
        """Writes down what was only kept, now that Redis answers; never raises for its being away."""
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

    def keep(self, event: MemoryEvent) -> None:
        """Counts without asking Redis, which is away."""
        with self._lock:
            self._pending[event.value] += 1

    def all(self) -> dict[str, int]:
        """Counts of all processes, by the event's name. Raises RedisUnavailable."""
        found = cast("dict[str, str]", self._client.hgetall(MEMORY_COUNTS))
        with self._lock:
            return dict(Counter({name: int(number) for name, number in found.items()}) + self._pending)
