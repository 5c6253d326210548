"""Metrics of a process: in the registry of Prometheus' client library, in its format, and over HTTP."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import accumulate

from prometheus_client import REGISTRY, CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as MetricFamily
from prometheus_client.registry import Collector
from redis import Redis

from ...client.building.connection import redis_url_in_use
from ...config.settings import load_settings
from ...models.errors import InvalidInput
from ...models.metrics import AGE, COUNTED, GAUGES, Metric
from ...state.metrics import split_field
from ...state.redis.connect import connect
from .reader import MetricsReader, MetricsRefresher, MetricsSnapshot

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
    found = {labels: value for labels, value in values.items() if len(labels) == len(metric.labels)}
    for labels, value in (dict.fromkeys(metric.known_values(), 0) | found).items():
        family.add_metric(labels, value / metric.scale if metric.scale != 1 else value)
    return family


def _histogram(metric: Metric, values: _Parts) -> MetricFamily:
    family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    names = (*(f"{bound:g}" for bound in metric.buckets), "+Inf")
    found = {parts[:-1] for parts in values if len(parts) == len(metric.labels) + 1}
    for labels in sorted(found.union(metric.known_values())):
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
