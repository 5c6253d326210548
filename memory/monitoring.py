"""Counters and log lines of events in dialog memories, for operators. Values in log lines are masked."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import cast

from pydantic import JsonValue
from redis import Redis
from redis.exceptions import RedisError

from ..models.errors import StateError
from ..models.memory.masking import format_for_log, mask
from ..models.memory.services import private_names
from ..state.redis.keys import MEMORY_COUNTS
from .values import MemoryRules, MemorySnapshot, Owner

#: Seconds for which the counts are kept after the last counted event.
KEPT_S = 30 * 86_400


class MemoryEvent(StrEnum):
    """An event that is counted."""

    #: A stored state could not be read; it was dropped.
    CORRUPT = "corrupt"
    #: A stored state had expired; it was dropped.
    EXPIRED = "expired"
    #: A parameter had the wrong type.
    INVALID = "invalid"
    #: A parameter was larger than the cap.
    TOO_LARGE = "too_large"
    #: A parameter was removed to make room for newer ones.
    EVICTED = "evicted"
    #: A turn ran without memory, or its memory could not be written.
    DEGRADED = "degraded"


class MemoryCounts:
    """Counters of one process, with those that are not yet in Redis."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._pending: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, event: MemoryEvent, times: int = 1) -> None:
        """Count an event; never raises if Redis is unavailable."""
        self.count_locally(event, times)
        self.flush()

    def flush(self) -> None:
        """Write pending counts to Redis; never raises if Redis is unavailable."""
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

    def count_locally(self, event: MemoryEvent, times: int = 1) -> None:
        """Count in memory only, while Redis is unavailable."""
        with self._lock:
            self._pending[event.value] += times

    def all(self) -> dict[str, int]:
        """Return the counts of all processes, by event name.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        stored = cast("dict[str, str]", self._client.hgetall(MEMORY_COUNTS))
        with self._lock:
            return dict(Counter({name: int(number) for name, number in stored.items()}) + self._pending)


log = logging.getLogger("symposia.state.memory.rooms")


def log_retrieved(owner: Owner, look: MemorySnapshot) -> None:
    """Log that a memory was read."""
    if log.isEnabledFor(logging.DEBUG):
        state = look.room.value
        shown = format_for_log(state.values(), private_names(state.service))
        log.debug(
            "Dialog state retrieved: user_id=%s, room_id=%s, cached_params=%s", *_mask_owner(owner), shown
        )


def log_merging(
    service: str,
    *,
    cached: Mapping[str, JsonValue],
    new: Mapping[str, JsonValue],
    merged: Mapping[str, JsonValue],
) -> None:
    """Log that a new message was merged with the memory."""
    if log.isEnabledFor(logging.DEBUG):
        private = private_names(service)
        log.debug("Merging: cached=%s, new=%s", format_for_log(cached, private), format_for_log(new, private))
        log.debug("Merged params: %s", format_for_log(merged, private))


def log_stored(owner: Owner, rules: MemoryRules) -> None:
    """Log that a memory was written."""
    if log.isEnabledFor(logging.DEBUG):
        log.debug("Dialog state stored: user_id=%s, room_id=%s, ttl=%ds", *_mask_owner(owner), rules.ttl_s)


def log_dropped(key: str, why: str) -> None:
    """Log that a memory was removed."""
    log.warning("removing dialog memory %r: %s", mask("key", key), why)


def log_evicted(key: str, names: Sequence[str]) -> None:
    """Log that parameters were removed to make room for newer ones."""
    log.warning("dialog memory %r is full, removing %s", mask("key", key), ", ".join(names))


def _mask_owner(owner: Owner) -> tuple[object, object]:
    """Return user and room, masked, because an id may be an e-mail address or telephone number."""
    return mask("user_id", owner.user), mask("room_id", owner.room)
