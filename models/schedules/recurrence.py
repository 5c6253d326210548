"""Recurrence: times of a crontab in a time zone, or multiples of an interval."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ..protocol.base import ProtocolObject
from .crontab import Crontab

#: Seconds between two times that are due, at most: a leap year.
MOST_SECONDS = 366 * 86_400
_SPAN = re.compile(r"(?:(\d{1,3})w)?(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?")
_SECONDS = (604_800, 86_400, 3_600, 60, 1)


def read_span(value: object) -> int:
    """Return seconds of a span such as `90`, `15m` or `1h30m`. Raises ValueError."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    match = _SPAN.fullmatch(text if not text.isdigit() else f"{text}s")
    if not text or match is None:
        raise ValueError("must be a duration such as 30s, 15m, 1h30m, 1d or 1w")
    return sum(int(count or 0) * unit for count, unit in zip(match.groups(), _SECONDS, strict=True))


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
    every: Annotated[int, BeforeValidator(read_span), Field(ge=1, le=MOST_SECONDS)] | None = None
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


def format_span(seconds: int) -> str:
    """Return seconds in the form that `read_span` reads, such as `1h30m`."""
    parts = []
    for unit, letter in zip(_SECONDS, "wdhms", strict=True):
        count, seconds = divmod(seconds, unit)
        if count:
            parts.append(f"{count}{letter}")
    return "".join(parts) or "0s"
