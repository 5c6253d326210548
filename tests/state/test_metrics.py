"""Counters in Redis: batches are added once, and the fields are bounded."""

from __future__ import annotations

import pytest

from symposia.models.metrics import MODES, TURN_SECONDS, TURNS, mode_label, reason_class
from symposia.state.metrics import MetricCounts, observation_fields
from symposia.state.redis.keys import METRICS, metrics_batch_key


def test_a_repeated_batch_is_added_once(client):
    counts = MetricCounts(client)
    for _ in range(3):
        counts.add({"a": 2, "b": 1}, sender="me", number=1)
    counts.add({"a": 2}, sender="me", number=2)
    counts.add({"a": 2}, sender="other", number=2)
    assert counts.read() == {"a": 6, "b": 1}


def test_counts_stay_and_batch_numbers_expire(client):
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
def test_a_reason_becomes_one_of_few(reason, label):
    assert reason_class(reason) == label


def test_a_mode_becomes_one_of_few():
    assert [mode_label(mode) for mode in (*MODES, "backwards", "a|b")] == [*MODES, "other", "other"]


def test_the_number_of_fields_is_bounded():
    turns = len(list(TURNS.known_values()))
    assert turns == len(MODES) * 8
