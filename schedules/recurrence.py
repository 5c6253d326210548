"""Recurrence: times of a crontab expression in a time zone, or multiples of an interval.

    minute  hour  day-of-month  month  day-of-week        */15 9-17 * * mon-fri

As in cron(5): if both days are restricted, either is enough, and 7 is Sunday as well. An expression with fixed
hours runs once on the day of a clock change: a time that does not exist moves to after the gap, and of a repeated
time the first counts. An expression for every hour follows elapsed time: it does not run in the gap, and runs
both times in the repeated hour.

Not cronsim: its version 2.8 skips `*/30 2 * * *` on a day whose clocks leave out that hour, runs it four times
when the hour comes twice, and loses 05:00 of `0 */5 * * *` after a gap of half an hour. Nor Celery's crontab:
it wants both days to fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Annotated, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ..models.errors import InvalidInput
from ..models.protocol.base import ProtocolObject
from ..models.text.durations import format_span, read_span

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SHORT = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
_MONTH_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_PART = re.compile(
    r"(?P<all>\*)(?:/(?P<every>\d{1,2}))?|(?P<first>\w{1,3})(?:-(?P<last>\w{1,3})(?:/(?P<step>\d{1,2}))?)?",
    re.ASCII,
)
#: The 29th of February comes after eight years at the latest, around a century without a leap day.
_SEARCHED_DAYS = 8 * 366 + 2
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _Field:
    """One of the five: its name, its first and last number, and words for numbers from the first on."""

    name: str
    first: int
    last: int
    words: tuple[str, ...] = ()

    def read(self, text: str) -> frozenset[int]:
        """Return the numbers that `text` names, such as `1-5,*/20`."""
        return frozenset(number for part in text.lower().split(",") for number in self._range(part))

    def _range(self, part: str) -> range:
        match = _PART.fullmatch(part)
        if match is None:
            raise self._refused(part)
        if match["all"]:
            first, last = self.first, self.last
        else:
            first = self._number(match["first"])
            last = self._number(match["last"]) if match["last"] else first
        step = int(match["every"] or match["step"] or 1)
        if first > last or not step:
            raise self._refused(part)
        return range(first, last + 1, step)

    def _number(self, text: str) -> int:
        number = self.words.index(text) + self.first if text in self.words else -1
        if number < 0 and text.isdigit():
            number = int(text)
        if not self.first <= number <= self.last:
            raise self._refused(text)
        return number

    def _refused(self, part: str) -> InvalidInput:
        rule = f"is not a valid {self.name}: use {self.first} to {self.last}, a range, or * with a step"
        return InvalidInput("", part, rule)


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 7, _WEEKDAYS),
)


@dataclass(frozen=True, slots=True)
class Crontab:
    """An expression that was read. Moments go in and out with a zone; those that come out are in UTC."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    #: 0 is Sunday.
    weekdays: frozenset[int]
    any_hour: bool
    any_day: bool
    any_weekday: bool

    @classmethod
    def read(cls, text: str) -> Self:
        """Read an expression, or a short word such as `@daily`.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        parts = _SHORT.get(text.strip().lower(), text).split()
        if len(parts) != len(_FIELDS):
            rule = f"must have five fields (minute hour day month weekday), or be one of {', '.join(_SHORT)}"
            raise InvalidInput("", text, rule)
        minutes, hours, days, months, weekdays = (
            field.read(part) for field, part in zip(_FIELDS, parts, strict=True)
        )
        crontab = cls(
            minutes=tuple(sorted(minutes)),
            hours=tuple(sorted(hours)),
            days=days,
            months=months,
            weekdays=frozenset(number % 7 for number in weekdays),
            any_hour=parts[1].startswith("*"),
            any_day=parts[2].startswith("*"),
            any_weekday=parts[4].startswith("*"),
        )
        if crontab.any_weekday and min(days) > max(_MONTH_DAYS[month - 1] for month in months):
            raise InvalidInput("", text, "never matches: none of its months has such a day")
        return crontab

    def after(self, moment: datetime, zone: ZoneInfo) -> datetime:
        """Return the first matching time after `moment`."""
        day = moment.astimezone(zone).date() - _DAY
        for number in range(_SEARCHED_DAYS):
            matches = [
                candidate
                for candidate in self._moments_on_day(day + number * _DAY, zone)
                if candidate > moment
            ]
            if matches:
                return min(matches)
        raise AssertionError("a valid cron expression has no match within eight years (bug in Symposia)")

    def until(self, moment: datetime, zone: ZoneInfo) -> datetime:
        """Return the last matching time at or before `moment`."""
        day = moment.astimezone(zone).date() + _DAY
        for number in range(_SEARCHED_DAYS):
            matches = [
                candidate
                for candidate in self._moments_on_day(day - number * _DAY, zone)
                if candidate <= moment
            ]
            if matches:
                return max(matches)
        raise AssertionError("a valid cron expression has no match within eight years (bug in Symposia)")

    def _moments_on_day(self, day: date, zone: ZoneInfo) -> Iterator[datetime]:
        """Yield the moments of a day of the zone's calendar."""
        if day.month not in self.months or not self._is_day(day):
            return
        for hour in self.hours:
            for minute in self.minutes:
                local = datetime.combine(day, time(hour, minute), zone)
                yield from self._moments(local)

    def _is_day(self, day: date) -> bool:
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return in_month and in_week
        return in_month or in_week

    def _moments(self, local: datetime) -> Iterator[datetime]:
        first, second = local.astimezone(UTC), local.replace(fold=1).astimezone(UTC)
        if first == second:
            yield first
        elif not self.any_hour:
            # In a gap this reads the clock as if it had not been changed: as long after the gap.
            yield first
        elif first < second:
            yield from (first, second)


#: Seconds between two times that are due, at most: a leap year.
MAX_SECONDS = 366 * 86_400


def _known_zone(name: str) -> str:
    try:
        _zone(name)
    except (KeyError, OSError, ValueError):
        raise ValueError("must be a time zone such as UTC or Europe/Berlin") from None
    return name


def _readable(text: str) -> str:
    _crontab(text)
    return text


@lru_cache(maxsize=256)
def _crontab(text: str) -> Crontab:
    return Crontab.read(text)


@lru_cache(maxsize=256)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


class Recurrence(ProtocolObject):
    """Either `cron`, read in `zone`, or `every` n seconds. Moments carry a zone."""

    #: Five fields, or a word such as `@daily`.
    cron: Annotated[str, Field(max_length=200), AfterValidator(_readable)] | None = None
    #: Seconds; also read from `15m` or `1h30m`.
    every: Annotated[int, BeforeValidator(read_span), Field(ge=1, le=MAX_SECONDS)] | None = None
    #: The zone of the crontab, and the one in which times are shown.
    zone: Annotated[str, Field(max_length=64), AfterValidator(_known_zone)] = "UTC"

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if (self.cron is None) == (self.every is None):
            raise ValueError("must have exactly one of `cron` and `every`")
        return self

    def after(self, moment: datetime, *, origin: datetime) -> datetime:
        """Return the first time due after `moment`, in UTC. An interval's grid begins at `origin`."""
        if self.every is None:
            return _crontab(str(self.cron)).after(moment, _zone(self.zone))
        step = timedelta(seconds=self.every)
        return origin.astimezone(UTC) + ((moment - origin) // step + 1) * step

    def until(self, moment: datetime, *, origin: datetime) -> datetime:
        """Return the last time due at or before `moment`, in UTC."""
        if self.every is None:
            return _crontab(str(self.cron)).until(moment, _zone(self.zone))
        step = timedelta(seconds=self.every)
        return origin.astimezone(UTC) + (moment - origin) // step * step

    def between(self, after: datetime, until: datetime, *, origin: datetime) -> Iterator[datetime]:
        """Yield the times due after `after` and up to `until`, in order."""
        due = self.after(after, origin=origin)
        while due <= until:
            yield due
            due = self.after(due, origin=origin)

    def __str__(self) -> str:
        if self.every is not None:
            return f"every {format_span(self.every)}"
        return f"{self.cron} ({self.zone})"
