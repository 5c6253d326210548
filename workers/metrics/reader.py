"""Readings of all metrics from Redis, each with a bounded number of commands, and their background thread.

A scrape reads memory only, so it is answered while Redis is unavailable.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from redis import Redis
from redis.exceptions import RedisError

from ...models.errors import CorruptSession, SymposiaError
from ...models.metrics import (
    ARCHIVE_BACKLOG,
    PARKED_TURNS,
    SESSIONS,
    SESSIONS_STUCK,
    WORKERS,
    Metric,
    StuckReason,
)
from ...state.metrics import MetricCounts
from ...state.presence import WorkerPresence
from ...state.redis.keys import INBOX
from ...state.redis.readers import server_ms
from ...state.sessions.archiving import ArchiveQueue
from ...state.sessions.index import SessionIndex
from ...state.sessions.live_sessions import LiveSessions, StuckSessions, read_states, stuck_reason
from ...state.sessions.records import SessionState

log = logging.getLogger(__name__)

#: Maximum number of sessions whose state is read to check that they are still stuck; further ones are counted.
MOST_CHECKED = 100

#: Values of a metric by its label values.
Values = Mapping[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class MetricsSnapshot:
    """All metrics at one time."""

    #: Counters of all processes, by field: see `state/metrics.py`.
    counts: Mapping[str, int]
    gauges: Mapping[Metric, Values]


class MetricsReader:
    """Reader of the metrics of one Redis.

    Args:
        client: Client that decodes responses.
        stuck_after_ms: Milliseconds without progress after which an active session counts as stuck.
    """

    def __init__(self, client: Redis, *, stuck_after_ms: int) -> None:
        self._client = client
        self._stuck_after_ms = stuck_after_ms

    def read(self) -> MetricsSnapshot:
        """Return all metrics.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        client, now_ms = self._client, server_ms(self._client)
        gauges: dict[Metric, Values] = {
            SESSIONS: LiveSessions(client).count(),
            SESSIONS_STUCK: self._count_stuck(now_ms),
            PARKED_TURNS: {(): int(client.zcard(INBOX))},
            ARCHIVE_BACKLOG: {(): ArchiveQueue(client).count(before_ms=now_ms)},
            WORKERS: {(): len(WorkerPresence(client).list_alive())},
        }
        return MetricsSnapshot(MetricCounts(client).read(), gauges)

    def _count_stuck(self, now_ms: int) -> dict[tuple[str, ...], float]:
        counts: dict[tuple[str, ...], float] = {(reason.value,): 0 for reason in StuckReason}
        overdue = SessionIndex(self._client).count_unswept(before_ms=now_ms - self._stuck_after_ms)
        counts[StuckReason.UNSWEPT.value,] = overdue
        found = StuckSessions(self._client).list_all(now_ms=now_ms)
        for reason, _ in found[MOST_CHECKED:]:
            counts[reason.value,] += 1
        checked = found[:MOST_CHECKED]
        states = read_states(self._client, [session_id for _, session_id in checked], now_ms=now_ms)
        for (reason, _), state in zip(checked, states, strict=True):
            counts[reason.value,] += self._is_still_stuck(reason, state)
        return counts

    def _is_still_stuck(self, reason: StuckReason, state: SessionState | CorruptSession | None) -> bool:
        """Return whether the session still makes no progress: it may have continued since the sweep found it."""
        if state is None:
            return False
        try:
            if isinstance(state, CorruptSession):
                raise state
            return stuck_reason(state, after_ms=self._stuck_after_ms) is reason
        except CorruptSession:
            return reason is StuckReason.UNREADABLE


#: Seconds between two readings.
REFRESH_EVERY_S = 5.0


class MetricsRefresher:
    """Daemon thread that reads the metrics again and again.

    Args:
        read: Function that reads the metrics from Redis.
        every_s: Seconds between two readings.
    """

    def __init__(self, read: Callable[[], MetricsSnapshot], *, every_s: float = REFRESH_EVERY_S) -> None:
        self._read = read
        self._every_s = every_s
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._is_away = False
        self._read_at = time.monotonic()
        #: The newest reading; None before the first one.
        self.newest: MetricsSnapshot | None = None

    @property
    def age_s(self) -> float:
        """Seconds since the newest reading, or since the creation of this object before the first one."""
        return time.monotonic() - self._read_at

    def start(self) -> None:
        """Start the thread, unless it was started before."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="symposia-metrics-reader", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End the thread after its current reading."""
        self._closed.set()

    def refresh(self) -> None:
        """Read the metrics once; keep the newest reading while Redis is unavailable."""
        began = time.monotonic()
        try:
            self.newest = self._read()
        except (RedisError, SymposiaError, OSError) as error:
            if not self._is_away:
                log.warning("reading metrics failed, will retry: %s", error)
            self._is_away = True
        else:
            self._read_at, self._is_away = began, False

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                self.refresh()
            except Exception:
                log.exception("reading metrics failed, will retry")
            self._closed.wait(self._every_s)
