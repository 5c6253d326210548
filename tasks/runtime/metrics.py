"""Counting of what a worker process does, for monitors.

Counts are summed in memory, and a thread of the worker (`workers/steps/monitoring.py`) writes the sums to Redis
once a second, so counting costs a turn no round trip. A killed process loses the counts of its last second. A batch whose reply was lost is sent
again under its number, and added once.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import Counter

from redis.exceptions import RedisError

from ...models.errors import StateError
from ...models.metrics import (
    COMMITS_REFUSED,
    COST,
    LOCK_WAITS,
    MEMORY_UNAVAILABLE,
    QUEUE_WAIT_SECONDS,
    SESSIONS_STARTED,
    TOKENS,
    TURN_SECONDS,
    TURNS,
    Metric,
    TurnOutcomeLabel,
    mode_label,
)
from ...models.text.ids import new_id
from ...models.turns.turn import Usage
from ...state.metrics import MetricCounts, count_field, observation_fields
from ...state.sessions.records import ScriptAnswer
from ..ports import MetricSink

log = logging.getLogger(__name__)


class MetricBuffer:
    """Sink that sums counts in memory. A worker process calls `flush` about once a second."""

    def __init__(self, counts: MetricCounts) -> None:
        self._counts = counts
        self._sender = new_id()
        self._pid = os.getpid()
        self._number = 0
        self._pending: Counter[str] = Counter()
        #: The batch that was sent and not answered yet.
        self._batch: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._flush_lock = threading.Lock()
        self._is_away = False

    def count(self, metric: Metric, *labels: str, amount: int = 1) -> None:
        """Add to a counter; `amount` is in stored units."""
        if amount:
            with self._lock:
                self._pending[count_field(metric, *labels)] += amount

    def observe(self, metric: Metric, seconds: float, *labels: str) -> None:
        """Add an observation to a histogram."""
        fields = observation_fields(metric, seconds, *labels)
        with self._lock:
            for field, amount in fields.items():
                self._pending[field] += amount

    def flush(self) -> None:
        """Write all counts; while Redis is unavailable they are kept."""
        if os.getpid() != self._pid:  # a forked child has a copy of the counts of its parent
            return
        with self._flush_lock:
            try:
                while self._take_batch():
                    self._counts.add(self._batch, sender=self._sender, number=self._number)
                    self._batch = Counter()
            except (RedisError, StateError, OSError) as error:
                if not self._is_away:
                    log.warning("writing metrics failed, will retry: %s", error)
                self._is_away = True
            else:
                self._is_away = False

    def _take_batch(self) -> bool:
        """Number a new batch, unless the last one must be repeated; return False if nothing is to be written."""
        if not self._batch:
            with self._lock:
                self._batch, self._pending = self._pending, Counter()
            self._number += 1
        return bool(self._batch)


class TurnMetrics:
    """What the turns of one session's mode count.

    Args:
        sink: Receiver of the counts.
        mode: Mode of the session.
    """

    def __init__(self, sink: MetricSink, mode: str) -> None:
        self._sink = sink
        self._mode = mode_label(mode)

    def not_granted(self, word: str) -> None:
        """Count a turn that was not granted; `word` is the answer of `begin`."""
        if word == "busy":
            self._sink.count(LOCK_WAITS, self._mode)

    def granted(self, answer: ScriptAnswer, number: int) -> None:
        """Observe how long a turn waited for a worker."""
        record = answer.state.records[number] if answer.state else None
        if record is not None and record.waited_ms is not None:
            self._sink.observe(QUEUE_WAIT_SECONDS, record.waited_ms / 1000, self._mode)

    def ended(self, outcome: TurnOutcomeLabel, seconds: float) -> None:
        """Count the end of an attempt that took `seconds`."""
        self._sink.count(TURNS, self._mode, outcome.value)
        self._sink.observe(TURN_SECONDS, seconds, self._mode)

    def refused(self, word: str) -> None:
        """Count output that was not written; `word` is the answer of the script."""
        self._sink.count(COMMITS_REFUSED, self._mode, word)

    def booked(self, usage: Usage) -> None:
        """Count the usage that a session has booked."""
        self._sink.count(TOKENS, self._mode, "input", amount=usage.input_tokens)
        self._sink.count(TOKENS, self._mode, "output", amount=usage.output_tokens)
        self._sink.count(TOKENS, self._mode, "cached", amount=usage.cached_tokens)
        self._sink.count(COST, self._mode, amount=usage.cost_micros)

    def started(self) -> None:
        """Count a session whose first turn was planned."""
        self._sink.count(SESSIONS_STARTED, self._mode)

    def without_memory(self) -> None:
        """Count a turn that runs without its dialog memory."""
        self._sink.count(MEMORY_UNAVAILABLE)
