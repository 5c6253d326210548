"""The metrics as a Prometheus server gets them: over HTTP, or from Redis through the exporter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.request import urlopen

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from scaling import patient
from symposia.models.metrics import AGE
from symposia.state.redis.connect import connect
from symposia.workers.metrics import MetricsReader, MetricsSnapshot, build_families

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Scrape:
    """All samples of one scrape: (name, labels) -> value."""

    samples: dict[tuple[str, Labels], float]

    @classmethod
    def parse(cls, text: str) -> Scrape:
        samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }
        return cls(samples)

    def series(self, name: str, **labels: str) -> Iterator[tuple[Labels, float]]:
        """All series of a name that have these labels."""
        wanted = set(labels.items())
        return (
            (found, value) for (it, found), value in self.samples.items() if it == name and wanted <= found
        )

    def total(self, name: str, **labels: str) -> float:
        """The sum of all series of a name that have these labels; 0 without any."""
        return sum(value for _, value in self.series(name, **labels))

    def names(self) -> set[str]:
        return {name for name, _ in self.samples}


def scrape_redis(url: str, *, stuck_after_ms: int = 300_000) -> Scrape:
    """What a process that reads this Redis now would answer."""
    with connect(url) as client:
        snapshot = MetricsReader(client, stuck_after_ms=stuck_after_ms).read()
    registry = CollectorRegistry()
    registry.register(_Once(snapshot))
    return Scrape.parse(generate_latest(registry).decode())


class _Once(Collector):
    """One reading, just made."""

    def __init__(self, snapshot: MetricsSnapshot) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(AGE.name, AGE.help, value=0)
        yield from build_families(self._snapshot)


def scrape_http(port: int, host: str = "127.0.0.1") -> Scrape:
    """What the process at this port answers."""
    with urlopen(f"http://{host}:{port}/metrics", timeout=patient(5)) as answer:
        return Scrape.parse(answer.read().decode())
