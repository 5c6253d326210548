"""The buffer of counts: written once, kept during an outage, not written by a forked child."""

from __future__ import annotations

import os
import time

import pytest

from checks.counting import counting_client
from live import until
from servers.lossy import lossy_wire
from sessions.table import Table
from symposia.models.metrics import LOCK_WAITS, TURN_SECONDS
from symposia.state.metrics import MetricCounts
from symposia.state.redis.connect import connect
from symposia.tasks.ports import NoMetrics
from symposia.tasks.runtime.metrics import MetricBuffer, TurnMetrics

FIELD = "symposia_lock_waits_total|pair"


@pytest.fixture
def counts(redis_url):
    with connect(redis_url) as client:
        yield MetricCounts(client)


def test_counts_are_summed_until_they_are_written(counts):
    buffer = MetricBuffer(counts)
    buffer.count(LOCK_WAITS, "pair")
    buffer.count(LOCK_WAITS, "pair", amount=2)
    buffer.observe(TURN_SECONDS, 0.02, "pair")
    assert counts.read() == {}
    buffer.flush()
    assert counts.read()[FIELD] == 3
    assert counts.read()["symposia_turn_seconds|pair|0.05"] == 1


def test_counting_takes_no_round_trip(redis_url):
    client, trips = counting_client(redis_url)
    with client:
        buffer = MetricBuffer(MetricCounts(client))
        for _ in range(100):
            buffer.count(LOCK_WAITS, "pair")
            buffer.observe(TURN_SECONDS, 0.02, "pair")
        assert trips.taken() == 0
        buffer.flush()
        assert trips.taken() <= 2, "the script, which the server may not know yet"
        buffer.flush()
        assert trips.taken() == 0


def test_count_of_zero_is_not_stored(counts):
    buffer = MetricBuffer(counts)
    buffer.count(LOCK_WAITS, "pair", amount=0)
    buffer.flush()
    assert counts.read() == {}


def test_batch_with_a_lost_reply_is_added_once(redis_url, counts):
    with lossy_wire(redis_url) as wire, connect(wire.url, retries=0) as client:
        buffer = MetricBuffer(MetricCounts(client))
        for _ in range(20):
            buffer.count(LOCK_WAITS, "pair")
            buffer.flush()
        buffer.flush()
        assert wire.lost
    assert counts.read() == {FIELD: 20}


def test_counts_are_kept_while_redis_is_unavailable(redis_url, counts):
    class Away(MetricCounts):
        is_away = True

        def add(self, *args, **options):
            if self.is_away:
                raise ConnectionRefusedError
            super().add(*args, **options)

    with connect(redis_url) as client:
        away = Away(client)
        buffer = MetricBuffer(away)
        for _ in range(3):
            buffer.count(LOCK_WAITS, "pair")
            buffer.flush()
        assert counts.read() == {}
        away.is_away = False
        buffer.flush()
        buffer.flush()
    assert counts.read() == {FIELD: 3}


def test_forked_child_does_not_write_parent_counts(counts, monkeypatch):
    buffer = MetricBuffer(counts)
    buffer.count(LOCK_WAITS, "pair")
    monkeypatch.setattr(os, "getpid", lambda: -1)
    buffer.flush()
    assert counts.read() == {}
    monkeypatch.undo()
    buffer.flush()
    assert counts.read() == {FIELD: 1}


def test_a_runtime_without_monitoring_counts_nothing(counts):
    sink = NoMetrics()
    sink.count(LOCK_WAITS, "pair")
    sink.observe(TURN_SECONDS, 1.0, "pair")
    sink.flush()
    assert counts.read() == {}


def test_queue_wait_excludes_the_time_of_a_suspension(redis_url, counts):
    buffer = MetricBuffer(counts)
    with connect(redis_url) as client:
        table = Table(client)
        number = table.plan_one()
        table.suspend()
        began = time.monotonic()
        until(lambda: time.monotonic() > began + 1, what="a second of suspension")
        before_resume = time.monotonic()
        table.resume()
        TurnMetrics(buffer, "pair").granted(table.begin(number), number)
        most_ms = (time.monotonic() - before_resume) * 1000 + 1
        table.cancel()
    buffer.flush()
    assert 0 <= counts.read()["symposia_queue_wait_seconds|pair|sum"] <= most_ms
    assert sum(amount for field, amount in counts.read().items() if not field.endswith("sum")) == 1
