"""Counters of all processes in Redis, as one hash with a bounded number of fields.

A field is the name of a metric with its label values, such as `symposia_turns_total|pair|message`. All values
are integers. The fields of a histogram end in `sum` or in the upper bound of a bucket (not cumulative).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import cast

from redis import Redis
from redis.exceptions import RedisError

from ..models.errors import StateError
from ..models.metrics import Metric
from ..models.text.ids import new_id
from .redis.keys import METRICS, metrics_batch_key
from .redis.scripts import ScriptValue, call_script

log = logging.getLogger(__name__)

#: Milliseconds for which the number of a batch is remembered: longer than a process repeats it.
BATCH_TTL_MS = 3_600_000
_SEPARATOR = "|"

#: Amounts by field.
Counts = Mapping[str, int]


def count_field(metric: Metric, *labels: str) -> str:
    """Return the field of a counter."""
    return _SEPARATOR.join((metric.name, *labels))


def observation_fields(metric: Metric, seconds: float, *labels: str) -> dict[str, int]:
    """Return the amounts that one observation adds to a histogram."""
    field = count_field(metric, *labels)
    return {
        f"{field}{_SEPARATOR}{metric.bucket(seconds)}": 1,
        f"{field}{_SEPARATOR}sum": round(seconds * metric.scale),
    }


def split_field(field: str) -> tuple[str, tuple[str, ...]]:
    """Return the name of the metric, and the remaining parts of the field."""
    name, *parts = field.split(_SEPARATOR)
    return name, tuple(parts)


class MetricCounts:
    """The counters in one Redis. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def add(self, counts: Counts, *, sender: str | None = None, number: int = 0) -> None:
        """Add amounts; a batch with the same sender and number as the sender's last one is added once.

        Args:
            counts: Amounts by field.
            sender: Random id of the sending process; None: a sender with one batch.
            number: Number of the batch.

        Raises:
            RedisUnavailable: The batch may have been added; repeat it with the same number.
        """
        keys = [METRICS, metrics_batch_key(sender or new_id())]
        additions: list[ScriptValue] = []
        for field, amount in counts.items():
            additions += [field, amount]
        ttl_ms = BATCH_TTL_MS if sender else BATCH_TTL_MS // 60
        call_script(self._client, "metrics/add", keys, {"number": number, "ttl_ms": ttl_ms}, additions)

    def count_event(self, field: str) -> None:
        """Count one rare event at once; an outage of Redis is logged, because no work may fail for its count."""
        try:
            self.add({field: 1})
        except (RedisError, StateError, OSError) as error:
            log.warning("counting %s failed: %s", field, error)

    def read(self) -> dict[str, int]:
        """Return all amounts by field.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        counts = cast("dict[str, str]", self._client.hgetall(METRICS))
        return {field: int(amount) for field, amount in counts.items()}
