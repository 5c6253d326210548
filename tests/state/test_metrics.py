"""Counters in Redis: batches are added once, and the fields are bounded."""

from __future__ import annotations

import pytest

from checks.counting import counting_client
from sessions.table import Table
from symposia.models import metrics
from symposia.models.metrics import (
    MAX_ADDED_MODES,
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
from symposia.state.redis.readers import server_ms
from symposia.state.sessions.index import QueueProgress
from symposia.state.sessions.live_sessions import LiveSessions, StuckSessions
from symposia.workers.metrics import MAX_CHECKED, MetricsReader


def test_a_repeated_batch_is_added_once(client):
    counts = MetricCounts(client)
    for _ in range(3):
        counts.add({"a": 2, "b": 1}, sender="me", number=1)
    counts.add({"a": 2}, sender="me", number=2)
    counts.add({"a": 2}, sender="other", number=2)
    assert counts.read() == {"a": 6, "b": 1}


def test_end_of_a_session_is_counted_once(client):
    live = LiveSessions(client)
    live.add("a", "pair")
    for _ in range(2):
        live.count_end("a", "ended")
    assert MetricCounts(client).read() == {"ended": 1}


def test_metrics_work_in_a_cluster(cluster):
    with connect(cluster.url) as client:
        MetricCounts(client).add({"symposia_lock_waits_total|pair": 2}, sender="me", number=1)
        live = LiveSessions(client)
        live.add("a", "pair")
        tables = [Table(client) for _ in range(4)]
        for session_id in ("a", *(it.id for it in tables)):
            StuckSessions(client).add(session_id, StuckReason.QUEUED, now_ms=0, until_ms=10**15)
        snapshot = MetricsReader(client, stuck_after_ms=0).read()
        assert snapshot.counts["symposia_lock_waits_total|pair"] == 2
        assert snapshot.gauges[SESSIONS]["pair", "active"] == 1
        assert snapshot.gauges[SESSIONS_STUCK]["queued",] == 4, "one session does not exist"
        live.count_end("a", "ended")
        assert MetricCounts(client).read()["ended"] == 1
        for table in tables:
            table.store.cancel(table.id, reason="enough", retention_ms=1_000)
        client.delete(METRICS)


def test_stuck_sessions_are_read_in_few_round_trips(table: Table, redis_url):
    wrong, damaged, ended = (Table(table.client) for _ in range(3))
    tables = (table, wrong, damaged, ended)
    stuck = StuckSessions(table.client)
    for it in tables:
        for reason in (StuckReason.QUEUED, StuckReason.UNREADABLE):
            stuck.add(it.id, reason, now_ms=0, until_ms=10**15)
    for number in range(MAX_CHECKED - 2 * len(tables)):
        stuck.add(f"gone {number}", StuckReason.QUEUED, now_ms=0, until_ms=10**15)
    ended.store.cancel(ended.id, reason="enough", retention_ms=60_000)
    table.client.hset(damaged.key("turns"), "1", "no record")
    table.client.delete(wrong.key("turns"))
    table.client.set(wrong.key("turns"), "no hash")
    client, trips = counting_client(redis_url)
    with client:
        reader = MetricsReader(client, stuck_after_ms=0)
        reader.read()
        trips.taken()
        counts = reader.read().gauges[SESSIONS_STUCK]
    assert trips.taken() <= 13
    assert (counts["queued",], counts["unreadable",]) == (1, 2)
    for it in (wrong, damaged):
        table.client.delete(*table.client.scan_iter(it.key("*")))


def test_session_in_a_queue_that_moves_is_not_stuck(table: Table):
    table.client.hset(table.key("session"), "updated_ms", 1)
    now_ms = server_ms(table.client)
    StuckSessions(table.client).add(table.id, StuckReason.QUEUED, now_ms=0, until_ms=10**15)
    progress = QueueProgress(table.client)
    for moved, stuck in ((False, 1), (True, 0)):
        if moved:
            progress.record_taken(now_ms)
            progress.publish()
        snapshot = MetricsReader(table.client, stuck_after_ms=60_000).read()
        assert snapshot.gauges[SESSIONS_STUCK]["queued",] == stuck


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


def test_the_number_of_fields_is_bounded(monkeypatch):
    assert len(list(TURNS.known_values())) == len(MODES) * 8
    names = ("no|label", "no label", "other", *(f"mode-{number}" for number in range(50)))
    monkeypatch.setattr(metrics, "added_mode_names", lambda: names)
    assert [mode_label(it) for it in (*names[:4], "mode-19", "mode-20")] == [
        *["other"] * 3,
        "mode-0",
        "mode-19",
        "other",
    ]
    assert len(list(TURNS.known_values())) == (len(MODES) + MAX_ADDED_MODES) * 8
