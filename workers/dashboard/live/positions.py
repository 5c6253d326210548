"""Positions in the changes of sessions: ids of stream entries, which order the streams of one server by time."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ....models.errors import InvalidInput

#: Position before every change.
BEGINNING = "0-0"
_POSITION = re.compile(r"\d{1,15}(-\d{1,15})?")


def position_key(position: str) -> tuple[int, int]:
    """Return a position as numbers: milliseconds since the epoch, and counter."""
    at_ms, _, counter = position.partition("-")
    return int(at_ms), int(counter or 0)


def newest_position(positions: Iterable[str]) -> str:
    """Return the newest position; `BEGINNING` of none."""
    return max(positions, key=position_key, default=BEGINNING)


def read_position(text: str, *, name: str) -> str:
    """Return a position that a client sent.

    Raises:
        InvalidInput: A position is not valid; the error names the field.
    """
    if not _POSITION.fullmatch(text):
        raise InvalidInput(name, text, "must be a position from an earlier answer")
    return text
