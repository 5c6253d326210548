"""Numbers, spans and moments in words, for people."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


def count_of(number: int, noun: str, plural: str | None = None, *, spec: str = "") -> str:
    """Return a number, in the format `spec`, with its noun, such as `1 turn` or `2 turns`."""
    return f"{number:{spec}} {noun if number == 1 else plural or f'{noun}s'}"


def span_in_words(seconds: float) -> str:
    """Return a span in its largest unit of which there are at least two, such as `47 hours`, or in seconds."""
    for unit, size in _UNITS:
        if seconds >= 2 * size:
            return count_of(int(seconds // size), unit)
    return count_of(max(0, int(seconds)), "second")


def moment_in_words(moment: datetime) -> str:
    """Return a moment in the time zone of this process, such as `Sat 28 Nov 2026, 09:12 UTC`."""
    return f"{moment.astimezone():%a %-d %b %Y, %H:%M %Z}"


def deadline_in_words(until: datetime, *, now: datetime | None = None) -> str:
    """Return a deadline, such as `within 47 hours (until Sat 28 Nov 2026, 09:12 UTC)`."""
    left_s = (until - (now or datetime.now(UTC))).total_seconds()
    return f"within {span_in_words(left_s)} (until {moment_in_words(until)})"
