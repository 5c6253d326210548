"""Blocks of code in Markdown that may hold JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_FENCE = "```"
_LABELS = ("", "json")


def json_blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of closed fenced blocks that are marked as JSON or not marked."""
    opened: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        mark = line.strip()
        if opened is None and mark.startswith(_FENCE):
            opened = number, mark.removeprefix(_FENCE).strip().casefold()
        elif opened is not None and mark == _FENCE:
            if opened[1] in _LABELS:
                yield opened[0], number
            opened = None
