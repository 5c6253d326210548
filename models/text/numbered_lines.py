"""Numbered lines: the form in which models see the text that they review.

    12| total = 0        a line to review
    13: return total     a line of context

The text can be read back from the form, so programs of the same session get the text without numbers. This
module is imported by programs that start for each turn, so it imports nothing that is slow to import.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

#: Marks after the number of a line.
REVIEWED, CONTEXT = "|", ":"
#: Word in the info string of a fence whose lines are numbered.
NUMBERED = "numbered"

_LINE = re.compile(r" *(\d{1,9})([|:]) (.*)", re.DOTALL)


class ShownLine(NamedTuple):
    """A line as a reviewer sees it."""

    text: str
    #: False: a line of context.
    is_reviewed: bool


def split_lines(text: str) -> list[str]:
    """Return the lines of a text; a line end at the end of the text begins no further line."""
    lines = text.split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return lines


def format_line(number: int, text: str, *, is_reviewed: bool) -> str:
    """Return a line with its number and mark."""
    return f"{number:>5}{REVIEWED if is_reviewed else CONTEXT} {text}"


def read_numbered_lines(text: str) -> dict[int, ShownLine]:
    """Return the numbered lines of a text by number; other lines are left out."""
    matches = (_LINE.fullmatch(line) for line in text.split("\n"))
    return {int(match[1]): ShownLine(match[3], match[2] == REVIEWED) for match in matches if match}


def remove_numbers(text: str) -> str:
    """Return the text without its numbers, in their order; lines that are missing are empty."""
    lines = read_numbered_lines(text)
    return "".join(
        f"{lines[number].text if number in lines else ''}\n" for number in range(1, max(lines, default=0) + 1)
    )


def without_number(line: str) -> str:
    """Return a line without a number that was copied with it."""
    match = _LINE.fullmatch(line)
    return match[3] if match else line


def line_ranges(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Return numbers as ranges, both ends included, in ascending order."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return tuple(ranges)


def format_ranges(ranges: Iterable[tuple[int, int]]) -> str:
    """Return ranges for people, such as `1-9, 12`."""
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
