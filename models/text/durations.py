"""Durations as people write them: seconds, or `90s`, `10m`, `1h30m`, `2d`, `1w`."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator

_SPAN = re.compile(r"(?:(\d{1,3})w)?(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?")
_SECONDS = (604_800, 86_400, 3_600, 60, 1)
_RULE = "must be a duration such as 30s, 15m, 1h30m, 1d or 1w"


def read_span(value: object) -> int:
    """Return seconds of a span such as `90`, `15m` or `1h30m`.

    Raises:
        ValueError: The text is not a span.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    match = _SPAN.fullmatch(text if not text.isdigit() else f"{text}s")
    if not text or match is None:
        raise ValueError(_RULE)
    return sum(int(count or 0) * unit for count, unit in zip(match.groups(), _SECONDS, strict=True))


def format_span(seconds: int) -> str:
    """Return seconds in the form that `read_span` reads, such as `1h30m`."""
    parts = []
    for unit, letter in zip(_SECONDS, "wdhms", strict=True):
        count, seconds = divmod(seconds, unit)
        if count:
            parts.append(f"{count}{letter}")
    return "".join(parts) or "0s"


def read_duration(value: object) -> object:
    """Return the seconds of a text with units; numbers, also as texts, are returned as they are.

    Raises:
        ValueError: The text is neither.
    """
    if not isinstance(value, str):
        return value
    try:
        float(value)
    except ValueError:
        return read_span(value)
    return value


#: Fields in seconds, which may also be given as `10m`.
Duration = Annotated[float, BeforeValidator(read_duration)]
WholeDuration = Annotated[int, BeforeValidator(read_duration)]
