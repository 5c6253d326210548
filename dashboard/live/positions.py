"""Positions in the streams of sessions.

A position is the id of a stream entry. Ids order the streams of one server by time, but several streams of a session
may use the same id. So a position in a session that is exact names the last entry of each stream; a single id means
all entries before its millisecond.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from ...models.errors import InvalidInput
from ...models.text.ids import entry_key

#: Position before every change.
BEGINNING = "0-0"
#: Streams of a session that a page follows.
Part = Literal["events", "journal", "dialog", "deltas"]
PARTS: tuple[Part, ...] = ("events", "journal", "dialog", "deltas")
#: Stream -> id of its last entry.
Positions: TypeAlias = Mapping[Part, str]
#: Greater than every counter of an entry.
_LAST_COUNTER = 2**53
_ID = r"\d{1,15}(?:-\d{1,16})?"
_POSITIONS = re.compile(rf"{_ID}(?:\.{_ID}){{{len(PARTS) - 1}}}|{_ID}")


def newest_position(positions: Iterable[str]) -> str:
    """Return the newest position; `BEGINNING` of none."""
    return max(positions, key=entry_key, default=BEGINNING)


def read_positions(text: str) -> Positions:
    """Return the positions that a client sent.

    Args:
        text: A position of `write_positions`, or the id of one entry: the entries of its millisecond come again.

    Raises:
        InvalidInput: It is neither.
    """
    if not _POSITIONS.fullmatch(text):
        raise InvalidInput("after", text, "must be a position from an earlier answer")
    ids = text.split(".")
    if len(ids) == 1:
        return dict.fromkeys(PARTS, f"{max(0, entry_key(text)[0] - 1)}-{_LAST_COUNTER}")
    return dict(zip(PARTS, ids, strict=True))


def write_positions(positions: Positions) -> str:
    """Return positions as text without characters that a URL escapes."""
    return ".".join(positions[part] for part in PARTS)
