"""Due times of a crontab follow cron(5) in every time zone, also at clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.errors import InvalidInput
from symposia.schedules.recurrence import Crontab

BERLIN = ZoneInfo("Europe/Berlin")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")


def at(text: str, zone: ZoneInfo | None = None) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone or UTC)


def following(cron: str, moment: datetime, zone: ZoneInfo, *, count: int) -> list[str]:
    found, crontab = [], Crontab.read(cron)
    for _ in range(count):
        moment = crontab.after(moment, zone)
        found.append(f"{moment.astimezone(zone):%m-%d %H:%M%z}")
    return found


@pytest.mark.parametrize(
    ("cron", "due"),
    [
        ("0 3 * * *", ["01-01 03:00+0000", "01-02 03:00+0000"]),
        ("*/20 * * * *", ["01-01 00:20+0000", "01-01 00:40+0000"]),
        ("0 9-17/4 * * mon-fri", ["01-01 09:00+0000", "01-01 13:00+0000"]),
        ("30 6 * * sun", ["01-04 06:30+0000", "01-11 06:30+0000"]),
        ("30 6 * * 7", ["01-04 06:30+0000", "01-11 06:30+0000"]),
        ("0 0 29 feb *", ["02-29 00:00+0000", "02-29 00:00+0000"]),
        ("0 0 13 * fri", ["01-02 00:00+0000", "01-09 00:00+0000"]),
        ("5,10 0 * * *", ["01-01 00:05+0000", "01-01 00:10+0000"]),
        ("@monthly", ["02-01 00:00+0000", "03-01 00:00+0000"]),
        ("0 0 * JAN thu", ["01-08 00:00+0000", "01-15 00:00+0000"]),
    ],
)
def test_due_times_match_cron(cron, due):
    assert following(cron, at("2026-01-01T00:00"), ZoneInfo("UTC"), count=2) == due


def test_skipped_clock_time_moves_to_after_the_gap():
    due = following("30 2 * * *", at("2026-03-28T00:00", BERLIN), BERLIN, count=3)
    assert due == ["03-28 02:30+0100", "03-29 03:30+0200", "03-30 02:30+0200"]


def test_repeated_clock_time_counts_once():
    due = following("30 2 * * *", at("2026-10-24T12:00", BERLIN), BERLIN, count=2)
    assert due == ["10-25 02:30+0200", "10-26 02:30+0100"]


def test_hourly_expression_follows_elapsed_time():
    due = following("30 * * * *", at("2026-10-25T01:00", BERLIN), BERLIN, count=4)
    assert due == ["10-25 01:30+0200", "10-25 02:30+0200", "10-25 02:30+0100", "10-25 03:30+0100"]
    due = following("30 * * * *", at("2026-03-29T01:00", BERLIN), BERLIN, count=2)
    assert due == ["03-29 01:30+0100", "03-29 03:30+0200"]


def test_half_hour_gap_is_a_gap_too():
    due = following("15 * * * *", at("2026-10-04T00:30", LORD_HOWE), LORD_HOWE, count=3)
    assert due == ["10-04 01:15+1030", "10-04 03:15+1100", "10-04 04:15+1100"]


def test_minute_steps_survive_clock_changes():
    due = following("*/30 2 * * *", at("2026-03-28T12:00", BERLIN), BERLIN, count=3)
    assert due == ["03-29 03:00+0200", "03-29 03:30+0200", "03-30 02:00+0200"]
    due = following("*/30 2 * * *", at("2026-10-24T12:00", BERLIN), BERLIN, count=3)
    assert due == ["10-25 02:00+0200", "10-25 02:30+0200", "10-26 02:00+0100"]


def test_hour_steps_survive_a_half_hour_gap():
    due = following("0 */5 * * *", at("2026-10-04T00:00", LORD_HOWE), LORD_HOWE, count=2)
    assert due == ["10-04 05:00+1100", "10-04 10:00+1100"]


@pytest.mark.parametrize(
    ("cron", "rule"),
    [
        ("", "must have five fields"),
        ("* * * *", "must have five fields"),
        ("@often", "must have five fields"),
        ("60 * * * *", "is not a valid minute: use 0 to 59"),
        ("* 24 * * *", "is not a valid hour: use 0 to 23"),
        ("* * 0 * *", "is not a valid day of month: use 1 to 31"),
        ("* * * 13 *", "is not a valid month: use 1 to 12"),
        ("* * * * 8", "is not a valid day of week: use 0 to 7"),
        ("* * * * mo", "is not a valid day of week: use 0 to 7"),
        ("*/0 * * * *", "is not a valid minute"),
        ("5-1 * * * *", "is not a valid minute"),
        ("1,,2 * * * *", "is not a valid minute"),
        ("\u0661 * * * *", "is not a valid minute"),
        ("0 0 30 2 *", "never matches: none of its months has such a day"),
        ("0 0 31 feb,apr *", "never matches: none of its months has such a day"),
    ],
)
def test_invalid_crontab_is_refused_with_the_rule(cron, rule):
    with pytest.raises(InvalidInput, match=rule):
        Crontab.read(cron)


FIELDS = st.tuples(
    st.sampled_from(["*", "0", "*/7", "5,35", "50-59"]),
    st.sampled_from(["*", "2", "1-3", "*/5", "23"]),
    st.sampled_from(["*", "1", "15-31", "*/9"]),
    st.sampled_from(["*", "3,4", "10", "mar-nov"]),
    st.sampled_from(["*", "sun", "1-5", "6,7"]),
)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"])
MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(FIELDS, ZONES, MOMENTS)
def test_crontab_names_the_same_times_backwards(fields, zone, moment):
    crontab, timezone = Crontab.read(" ".join(fields)), ZoneInfo(zone)
    due = crontab.after(moment, timezone)
    assert due > moment
    assert crontab.until(due, timezone) == due
    assert crontab.until(due - timedelta(seconds=1), timezone) <= moment


@given(FIELDS, ZONES, MOMENTS)
def test_every_due_time_matches_the_local_clock(fields, zone, moment):
    crontab, timezone = Crontab.read(" ".join(fields)), ZoneInfo(zone)
    due = crontab.after(moment, timezone)
    offset_changes = {(due + timedelta(hours=it)).astimezone(timezone).utcoffset() for it in (-2, 0, 2)}
    local = due.astimezone(timezone)
    if len(offset_changes) == 1:
        assert local.minute in crontab.minutes
        assert local.hour in crontab.hours
    assert local.month in crontab.months
