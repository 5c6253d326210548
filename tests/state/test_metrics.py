"""Counters in Redis: batches are added once, and the fields are bounded."""

from __future__ import annotations

import pytest

from symposia.models.metrics import (
    MODES,
    SESSIONS,
    SESSIONS_STUCK,
    TURN_SECONDS,
    TURNS,
    StuckReason,
    mode_label,
    reason_class,
)
from symposia.state.metrics import MetricCounts, observation_fields
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import METRICS, metrics_batch_key
from symposia.state.sessions.live_sessions import LiveSessions, StuckSessions
from symposia.workers.metrics.reader import MetricsReader


def test_a_repeated_batch_is_added_once(client):
    counts = MetricCounts(client)
    for _ in range(3):
        counts.add({"a": 2, "b": 1}, sender="me", number=1)
    counts.add({"a": 2}, sender="me", number=2)
    counts.add({"a": 2}, sender="other", number=2)
    assert counts.read() == {"a": 6, "b": 1}


def test_metrics_work_in_a_cluster(cluster):
    with connect(cluster.url) as client:
        MetricCounts(client).add({"symposia_lock_waits_total|pair": 2}, sender="me", number=1)
        live = LiveSessions(client)
        live.add("a", "pair")
        StuckSessions(client).add("a", StuckReason.QUEUED, now_ms=0, until_ms=10**15)
        snapshot = MetricsReader(client, stuck_after_ms=1_000).read()
        assert snapshot.counts["symposia_lock_waits_total|pair"] == 2
        assert snapshot.gauges[SESSIONS]["pair", "active"] == 1
        assert snapshot.gauges[SESSIONS_STUCK]["queued",] == 0, "the session does not exist"
        assert live.remove("a") == "pair"
        client.delete(METRICS)


def test_counts_are_permanent_and_batch_numbers_expire(client):
    MetricCounts(client).add({"a": 1}, sender="me", number=1)
    assert client.ttl(METRICS) == -1
    assert 0 < client.ttl(metrics_batch_key("me")) <= 3_600


def test_an_observation_is_in_one_bucket():
    assert observation_fields(TURN_SECONDS, 0.07, "pair") == {
        "symposia_turn_seconds|pair|0.1": 1,
        "symposia_turn_seconds|pair|sum": 70,
    }
    assert "symposia_turn_seconds|pair|+Inf" in observation_fields(TURN_SECONDS, 9_999, "pair")


@pytest.mark.parametrize(
    ("reason", "label"),
    [
        ("max_turns", "max_turns"),
        ("max_turns+text_seen", "several"),
        ("max_turns+secret words", "other"),
        ("a person's own words", "other"),
        ("", "other"),
    ],
)
def test_reasons_map_to_a_few_labels(reason, label):
    assert reason_class(reason) == label


def test_unknown_mode_becomes_other():
    assert [mode_label(mode) for mode in (*MODES, "backwards", "a|b")] == [*MODES, "other", "other"]


def test_the_number_of_fields_is_bounded():
    turns = len(list(TURNS.known_values()))
    assert turns == len(MODES) * 8
