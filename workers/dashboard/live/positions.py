"""Positions in the changes of sessions.

A position is the id of a stream entry; ids order the streams of one server by time. A cursor adds the number of the
change in the process that sent it, because changes reach memory in another order than they were written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ....models.errors import InvalidInput

#: Position before every change.
BEGINNING = "0-0"
_POSITION = re.compile(r"\d{1,15}(-\d{1,15})?")
_CURSOR = re.compile(rf"({_POSITION.pattern})(?:\.([0-9a-f]{{1,32}})-(\d{{1,15}}))?")


class Cursor(NamedTuple):
    """Position of a page in the list of sessions; as text `POSITION.INSTANCE-REVISION`."""

    position: str
    #: The list that sent it; empty: unknown.
    instance: str = ""
    #: Number of the change in that list.
    revision: int = 0

    def __str__(self) -> str:
        return f"{self.position}.{self.instance}-{self.revision}"


def position_key(position: str) -> tuple[int, int]:
    """Return a position as numbers: milliseconds since the epoch, and counter."""
    at_ms, _, counter = position.partition("-")
    return int(at_ms), int(counter or 0)


def newest_position(positions: Iterable[str]) -> str:
    """Return the newest position; `BEGINNING` of none."""
    return max(positions, key=position_key, default=BEGINNING)


def read_cursor(text: str, *, name: str) -> Cursor:
    """Return a cursor that a client sent, or a position only.

    Raises:
        InvalidInput: It is neither; the error has the name of the field.
    """
    if (found := _CURSOR.fullmatch(text)) is None:
        raise InvalidInput(name, text, "must be a position from an earlier answer")
    position, _, instance, revision = found.groups()
    return Cursor(position, instance or "", int(revision or 0))


def read_position(text: str, *, name: str) -> str:
    """Return a position that a client sent.

    Raises:
        InvalidInput: A position is not valid; the error names the field.
    """
    if not _POSITION.fullmatch(text):
        raise InvalidInput(name, text, "must be a position from an earlier answer")
    return text
