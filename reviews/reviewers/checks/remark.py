"""A remark: a problem in a document."""

from __future__ import annotations

from typing import NamedTuple


class Remark(NamedTuple):
    """A problem found in a document."""

    line: int
    rule: str
    severity: str
    message: str


def line_at(first: int, text: str, place: int) -> int:
    """Return the number of the line at a place of a text that begins in line `first`."""
    return first + text.count("\n", 0, place)
