"""Numbers, spans, moments and texts of speakers, for people."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape

_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))
_SHORT_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60))


def count_of(number: int, noun: str, plural: str | None = None, *, spec: str = "") -> str:
    """Return a number, in the format `spec`, with its noun, such as `1 turn` or `2 turns`."""
    return f"{number:{spec}} {noun if number == 1 else plural or f'{noun}s'}"


def span_in_words(seconds: float) -> str:
    """Return a span in its largest unit of which there are at least two, such as `47 hours`, or in seconds."""
    for unit, size in _UNITS:
        if seconds >= 2 * size:
            return count_of(int(seconds // size), unit)
    return count_of(max(0, int(seconds)), "second")


def short_duration(ms: float) -> str:
    """Return a duration in its largest unit, such as `5 min`."""
    seconds = max(0, round(ms / 1000))
    unit, size = next(((unit, size) for unit, size in _SHORT_UNITS if seconds >= size), ("s", 1))
    return f"{seconds // size} {unit}"


def dollars(micros: float) -> str:
    """Return an amount in US dollars from millionths, with four digits below a dollar, such as `$1,234.56` or `$0.0012`."""
    if not micros:
        return "$0"
    text = f"{micros / 1e6:.4f}"
    return f"${micros / 1e6:,.2f}" if micros >= 1_000_000 or text.endswith("00") else f"${text}"


def moment_in_words(moment: datetime) -> str:
    """Return a moment in the time zone of this process, such as `Sat 28 Nov 2026, 09:12 UTC`."""
    return f"{moment.astimezone():%a %-d %b %Y, %H:%M %Z}"


def deadline_in_words(until: datetime, *, now: datetime | None = None) -> str:
    """Return a deadline, such as `within 47 hours (until Sat 28 Nov 2026, 09:12 UTC)`."""
    left_s = (until - (now or datetime.now(UTC))).total_seconds()
    return f"within {span_in_words(left_s)} (until {moment_in_words(until)})"


#: Maximum number of texts shown: the newest.
SHOWN = 200
_NAME = "font-weight:600;padding:2px 12px 2px 0;vertical-align:top;white-space:nowrap"
_TEXT = "text-align:left;padding:2px 0;white-space:pre-wrap"


def named_texts_html(title: str, texts: Iterable[tuple[str, str]], *, status: str) -> str:
    """Return a table of texts as HTML.

    Args:
        title: Title of the table; empty for none.
        texts: Pairs of a speaker and a text; the newest are shown.
        status: A line below the table.
    """
    everything = list(texts)
    left_out = len(everything) - SHOWN
    rows = [
        f'<tr><th style="{_NAME}">{escape(name)}</th><td style="{_TEXT}">{escape(text)}</td></tr>'
        for name, text in everything[-SHOWN:]
    ]
    if left_out > 0:
        rows.insert(0, f"<tr><td></td><td><em>{count_of(left_out, 'earlier message')}</em></td></tr>")
    return (
        f"<div><strong>{escape(title)}</strong><table><tbody>{''.join(rows)}</tbody></table>"
        f"<div><em>{escape(status)}</em></div></div>"
    )
