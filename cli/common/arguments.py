"""Ids and times in arguments and tables.

A time is a moment (`2026-01-31`, `2026-01-31T14:00`, `2d` ago) or an age (`90d`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from ...client.building.sessions import SHORTEST_ID
from ...models.errors import InvalidInput
from ...models.text.durations import read_span


def shortest_ids(ids: Sequence[str]) -> dict[str, str]:
    """Return for each id its shortest prefix that commands accept and that is unique among these ids."""
    length = SHORTEST_ID
    while len({whole_id[:length] for whole_id in ids}) < len(set(ids)):
        length += 1
    return {whole_id: whole_id[:length] for whole_id in ids}


def moment_ms(text: str | None, *, option: str) -> int | None:
    """Return a moment in milliseconds since the epoch; None for no text.

    Args:
        text: A date, a date and time (UTC unless it carries a zone), or a span, which is that long ago.
        option: The name of the option, for the error.

    Raises:
        InvalidInput: The text has none of these formats.
    """
    if text is None:
        return None
    wanted = text.strip()
    try:
        return round(time.time() * 1000) - age_ms(wanted, option=option)
    except InvalidInput:
        pass
    try:
        moment = datetime.fromisoformat(wanted)
        return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        rule = "must be a date (2026-01-31), a date and time (2026-01-31T14:00) or an age (30m, 6h, 2d, 1w)"
        raise InvalidInput(option, text, rule) from None


def age_ms(text: str, *, option: str) -> int:
    """Return an age such as `36h`, `90d` or `12w` in milliseconds.

    Raises:
        InvalidInput: The text is not a positive number with a unit.
    """
    wanted = text.strip()
    try:
        # `read_span` reads a number without a unit as seconds, which is too easy to get wrong for an age.
        seconds = 0 if wanted.isdigit() else read_span(wanted)
    except ValueError:
        seconds = 0
    if seconds <= 0:
        raise InvalidInput(
            option, text, "must be a positive number with a unit, such as 30m, 36h, 90d or 12w"
        )
    return seconds * 1000


def relative_age(ms: int, *, now_ms: int | None = None) -> str:
    """Return how long ago a moment (milliseconds since the epoch) was, such as `5m ago`."""
    seconds = max(0, ((round(time.time() * 1000) if now_ms is None else now_ms) - ms) // 1000)
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit} ago"
    return f"{seconds}s ago"
