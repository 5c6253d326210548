"""Numbers, spans and deadlines in words."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from symposia.models.text.words import count_of, deadline_in_words, dollars, span_in_words

NOW = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (count_of(1, "turn"), "1 turn"),
        (count_of(0, "turn"), "0 turns"),
        (count_of(1_200, "token", spec=","), "1,200 tokens"),
        (count_of(2, "worker process", "worker processes"), "2 worker processes"),
        (span_in_words(-3), "0 seconds"),
        (span_in_words(1), "1 second"),
        (span_in_words(119), "119 seconds"),
        (span_in_words(7_199), "119 minutes"),
        (span_in_words(604_800), "7 days"),
        (dollars(0), "$0"),
        (dollars(1_200), "$0.0012"),
        (dollars(10_400), "$0.0104"),
        (dollars(310_000), "$0.31"),
        (dollars(1_234_560_400), "$1,234.56"),
    ],
)
def test_counts_and_spans_in_words(said, words):
    assert said == words


def test_deadline_is_in_the_time_zone_of_the_process(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        said = deadline_in_words(NOW + timedelta(hours=47), now=NOW)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert said == "within 47 hours (until Mon 30 Nov 2026, 09:00 CET)"
