"""The metrics in the format of Prometheus' client library."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as MetricFamily
from prometheus_client.registry import Collector

from ...models.metrics import AGE, COUNTED, GAUGES, Metric
from ...state.metrics import split_field
from .reader import MetricsSnapshot
from .refresher import MetricsRefresher

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
