"""Export of the metrics to Prometheus: read from Redis in the background, served from memory.

Each reading takes a bounded number of commands. A scrape reads memory only, so it is answered while Redis is
unavailable.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from prometheus_client import REGISTRY, CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as MetricFamily
from prometheus_client.registry import Collector
from redis import Redis
from redis.exceptions import RedisError

from ..client.building.connection import redis_url_in_use
from ..config.settings import load_settings
from ..models.errors import CorruptSession, InvalidInput, SymposiaError
from ..models.metrics import (
    AGE,
    ARCHIVE_BACKLOG,
    COUNTED,
    GAUGES,
    PARKED_TURNS,
    SESSIONS,
    SESSIONS_STUCK,
    WORKERS,
    Metric,
    StuckReason,
)
from ..state.metrics import MetricCounts, split_field
from ..state.presence import WorkerPresence
from ..state.redis.connect import connect
from ..state.redis.keys import INBOX
from ..state.redis.readers import server_ms
from ..state.sessions.archiving import ArchiveQueue
from ..state.sessions.index import QueueProgress, SessionIndex
from ..state.sessions.live_sessions import LiveSessions, StuckSessions, read_states, stuck_reason
from ..state.sessions.records import SessionState

log = logging.getLogger(__name__)

#: Maximum number of sessions whose state is read to check that they are still stuck; further ones are counted.
MAX_CHECKED = 100

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
        stuck = StuckSessions(self._client).list_all(now_ms=now_ms)
        for reason, _ in stuck[MAX_CHECKED:]:
            counts[reason.value,] += 1
        checked = stuck[:MAX_CHECKED]
        states = read_states(self._client, [session_id for _, session_id in checked], now_ms=now_ms)
        moved_ms = QueueProgress(self._client).moved_ms() if checked else 0
        for (reason, _), state in zip(checked, states, strict=True):
            counts[reason.value,] += self._is_still_stuck(reason, state, moved_ms)
        return counts

    def _is_still_stuck(
        self, reason: StuckReason, state: SessionState | CorruptSession | None, moved_ms: int
    ) -> bool:
        """Return whether the session still makes no progress: it may have continued since the sweep found it."""
        if state is None:
            return False
        try:
            if isinstance(state, CorruptSession):
                raise state
            after_ms = self._stuck_after_ms
            return stuck_reason(state, after_ms=after_ms, queue_moved_ms=moved_ms) is reason
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


#: Values of a metric by the remaining parts of their fields.
_Parts = Mapping[tuple[str, ...], int]


class MetricsCollector(Collector):
    """Collector of the newest reading. It never calls Redis."""

    def __init__(self, refresher: MetricsRefresher) -> None:
        self._refresher = refresher

    def describe(self) -> list[MetricFamily]:
        """Return nothing, so that the registry does not collect when it registers this collector."""
        return []

    def collect(self) -> Iterator[MetricFamily]:
        """Yield all metrics; before the first reading, only its age. The first scrape starts the reading."""
        self._refresher.start()
        yield GaugeMetricFamily(AGE.name, AGE.help, value=self._refresher.age_s)
        if self._refresher.newest is not None:
            yield from build_families(self._refresher.newest)


def build_families(snapshot: MetricsSnapshot) -> Iterator[MetricFamily]:
    """Yield the metrics of a reading. Fields that this release does not know are left out."""
    by_name: defaultdict[str, dict[tuple[str, ...], int]] = defaultdict(dict)
    for field, amount in snapshot.counts.items():
        name, parts = split_field(field)
        by_name[name][parts] = amount
    for metric in COUNTED:
        build = _histogram if metric.kind == "histogram" else _counter
        yield build(metric, by_name[metric.name])
    for metric in GAUGES:
        family = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
        for labels, value in snapshot.gauges[metric].items():
            family.add_metric(labels, value)
        yield family


def _counter(metric: Metric, values: _Parts) -> MetricFamily:
    family = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
    counts = {labels: value for labels, value in values.items() if len(labels) == len(metric.labels)}
    for labels, value in (dict.fromkeys(metric.known_values(), 0) | counts).items():
        family.add_metric(labels, value / metric.scale if metric.scale != 1 else value)
    return family


def _histogram(metric: Metric, values: _Parts) -> MetricFamily:
    family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    names = (*(f"{bound:g}" for bound in metric.buckets), "+Inf")
    label_sets = {parts[:-1] for parts in values if len(parts) == len(metric.labels) + 1}
    for labels in sorted(label_sets.union(metric.known_values())):
        cumulative = accumulate(values.get((*labels, name), 0) for name in names)
        total = values.get((*labels, "sum"), 0) / metric.scale
        family.add_metric(labels, list(zip(names, cumulative, strict=True)), total)
    return family


def export_metrics(
    client: Redis, *, stuck_after_ms: int, registry: CollectorRegistry = REGISTRY
) -> Callable[[], None]:
    """Start to read the metrics, and add them to a registry.

    Args:
        client: Client that decodes responses; its Redis may be unavailable.
        stuck_after_ms: Milliseconds without progress after which an active session counts as stuck.
        registry: Registry that is scraped. Flower serves the default one.

    Returns:
        Function that removes the metrics from the registry and ends the reading.
    """
    refresher = MetricsRefresher(MetricsReader(client, stuck_after_ms=stuck_after_ms).read)
    collector = MetricsCollector(refresher)
    registry.register(collector)
    refresher.start()

    def withdraw() -> None:
        registry.unregister(collector)
        refresher.close()

    return withdraw


@cache
def export_to_flower() -> None:
    """Add the metrics to the registry that Flower serves, once per process. The first scrape starts the reading.

    The settings are read by then, so that a Flower without metrics requests does not connect.
    """

    @cache
    def reader() -> MetricsReader:
        settings = load_settings()
        client = connect(redis_url_in_use(settings))
        return MetricsReader(client, stuck_after_ms=int(settings.stuck_after_s * 1000))

    REGISTRY.register(MetricsCollector(MetricsRefresher(lambda: reader().read())))


def serve_metrics(address: str, port: int, *, registry: CollectorRegistry = REGISTRY) -> Callable[[], None]:
    """Serve a registry over HTTP, at `/metrics`.

    Args:
        address: Address to listen on.
        port: Port to listen on.
        registry: Registry to serve.

    Returns:
        Function that ends the server.

    Raises:
        InvalidInput: The address or port cannot be used.
    """
    try:
        server, thread = start_http_server(port, address, registry)
    except OSError as error:
        reason = f"cannot be used on {address}: {error.strerror or error}"
        raise InvalidInput("metrics port", port, reason) from None

    def close() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return close
