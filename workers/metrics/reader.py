"""One reading of all metrics from Redis, with a bounded number of commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redis import Redis

from ...models.errors import CorruptSession, SessionNotFound
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
from ...state.sessions.live_sessions import LiveSessions, StuckSessions, stuck_reason
from ...state.sessions.store import SessionStore

#: Maximum number of sessions whose state is read to check that they are still stuck.
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
        """Return all metrics. Raises RedisUnavailable."""
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
        overdue = SessionIndex(self._client).count_due(before_ms=now_ms - self._stuck_after_ms)
        counts[StuckReason.UNSWEPT.value,] = overdue
        for place, (reason, session_id) in enumerate(StuckSessions(self._client).list_all(now_ms=now_ms)):
            if place >= MOST_CHECKED or self._is_still_stuck(reason, session_id):
                counts[reason.value,] += 1
        return counts

    def _is_still_stuck(self, reason: StuckReason, session_id: str) -> bool:
        """Return whether the session still makes no progress: it may have continued since the sweep found it."""
        try:
            state = SessionStore(self._client).state(session_id)
            return stuck_reason(state, after_ms=self._stuck_after_ms) is reason
        except SessionNotFound:
            return False
        except CorruptSession:
            return reason is StuckReason.UNREADABLE
