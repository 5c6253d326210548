"""Intervals have a grid, spans are read and written, and a recurrence is either one or a crontab."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.errors import InvalidInput
from symposia.schedules.recurrence import MAX_SECONDS, Recurrence, format_span, read_span

ORIGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECONDS = st.integers(1, MAX_SECONDS)


@given(SECONDS, st.integers(-(10**9), 10**9))
def test_interval_is_due_only_on_its_grid(seconds, offset):
    when, moment = Recurrence(every=seconds), ORIGIN + timedelta(seconds=offset)
    due = when.after(moment, origin=ORIGIN)
    assert moment < due <= moment + timedelta(seconds=seconds)
    assert (due - ORIGIN).total_seconds() % seconds == 0
    assert when.until(due, origin=ORIGIN) == due
    assert when.until(due - timedelta(milliseconds=1), origin=ORIGIN) == due - timedelta(seconds=seconds)


@given(SECONDS)
def test_written_span_is_read_again(seconds):
    assert read_span(format_span(seconds)) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("2s", 2), ("15m", 900), ("1h30m", 5_400), ("1d", 86_400), ("1w", 604_800), (7, 7)],
)
def test_spans_are_read(text, seconds):
    assert Recurrence(every=text).every == seconds


@pytest.mark.parametrize("text", ["", "m", "60w", "30m1h", "-5s", "1.5h", "1e3", True, None, "400d", "0s"])
def test_invalid_span_is_refused(text):
    with pytest.raises(InvalidInput, match=r"every|either"):
        Recurrence(every=text)


def test_the_times_between_two_moments_are_in_order():
    when = Recurrence(cron="*/20 * * * *", zone="Asia/Kathmandu")
    due = list(when.between(ORIGIN, ORIGIN + timedelta(hours=1), origin=ORIGIN))
    assert [it.minute for it in due] == [15, 35, 55]
    assert str(when) == "*/20 * * * * (Asia/Kathmandu)"
