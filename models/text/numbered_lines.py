"""Numbered lines: the form in which models see the text that they review.

    12| total = 0        a line to review
    13: return total     a line of context

A change has the numbers of both texts, and a mark:

    12 12   def total(rows):     context
    13    -     check(rows)      removed
       13 +     log(rows)        added

The text can be read back from the form, so programs of the same session get the text without numbers. This
module is imported by programs that start for each turn, so it imports nothing that is slow to import.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

#: Marks after the number of a line.
REVIEWED, CONTEXT = "|", ":"
#: Word in the info string of a fence whose lines are numbered, and of one with the lines of a change.
NUMBERED, CHANGED = "numbered", "changed"
#: Line in place of lines of a file that are not shown.
GAP = "..."

_LINE = re.compile(r" *(\d{1,9})([|:]) (.*)", re.DOTALL)
_REMOVED = re.compile(r" *(\d{1,9}) +- (.*)", re.DOTALL)
_ADDED = re.compile(r" *(\d{1,9}) \+ (.*)", re.DOTALL)
_UNCHANGED = re.compile(r" *(\d{1,9}) +(\d{1,9})   (.*)", re.DOTALL)


class ShownLine(NamedTuple):
    """A line as a reviewer sees it."""

    text: str
    #: False: a line of context.
    is_reviewed: bool


def normalise_line(text: str) -> str:
    """Return a line for comparison. Models are shown `<` of a tag as `&lt;` (`models.text.tags`)."""
    return " ".join(text.replace("&lt;", "<").split())


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
    return join_lines(read_numbered_lines(text))


def join_lines(lines: Mapping[int, ShownLine]) -> str:
    """Return lines as a text, each at its number; lines that are missing are empty."""
    numbers = range(1, max(lines, default=0) + 1)
    return "".join(f"{lines[number].text if number in lines else ''}\n" for number in numbers)


def without_number(line: str) -> str:
    """Return a line without numbers and mark that were copied with it."""
    for pattern in (_LINE, _UNCHANGED, _REMOVED, _ADDED):
        if match := pattern.fullmatch(line):
            return match[match.re.groups]
    return line


class ChangeLine(NamedTuple):
    """A line of a change: its number before and after, None where it is not."""

    old: int | None
    new: int | None
    text: str

    @property
    def is_changed(self) -> bool:
        """True if the line was added or removed."""
        return self.old is None or self.new is None

    def format(self, width: int = 0) -> str:
        """Return the line with its numbers of `width` characters, and its mark."""
        mark = "+" if self.old is None else "-" if self.new is None else " "
        old, new = ("" if number is None else str(number) for number in (self.old, self.new))
        return f"{old:>{width}} {new:>{width}} {mark} {self.text}"


class ChangedText(NamedTuple):
    """The lines of a change that are shown, by their numbers before and after."""

    old: dict[int, ShownLine]
    new: dict[int, ShownLine]


def read_change_lines(text: str) -> ChangedText:
    """Return the lines of a change; added and removed lines are to be reviewed, other lines are left out."""
    changed = ChangedText({}, {})
    for line in text.split("\n"):
        if match := _UNCHANGED.fullmatch(line):
            shown = ShownLine(match[3], is_reviewed=False)
            changed.old[int(match[1])], changed.new[int(match[2])] = shown, shown
        elif match := _REMOVED.fullmatch(line):
            changed.old[int(match[1])] = ShownLine(match[2], is_reviewed=True)
        elif match := _ADDED.fullmatch(line):
            changed.new[int(match[1])] = ShownLine(match[2], is_reviewed=True)
    return changed


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
