"""Ids and ages in arguments and tables."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...client.building.sessions import SHORTEST_ID
from ...models.errors import InvalidInput
from ...models.text.durations import read_span


def shortest_ids(ids: Sequence[str]) -> dict[str, str]:
    """Return for each id its shortest prefix that commands accept and that is unique among these ids."""
    length = SHORTEST_ID
    while len({whole_id[:length] for whole_id in ids}) < len(set(ids)):
        length += 1
    return {whole_id: whole_id[:length] for whole_id in ids}


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
