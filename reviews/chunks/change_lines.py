"""The lines of a changed file that models are shown: removed and added lines with the functions around them. Pure.

A unified diff with the numbers of both texts. Each hunk is shown in its function if that is short, else with the lines near
it and the signatures of the functions and classes around it. A change that is too long for one request is split
between its hunks, then anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...models.text.numbered_lines import GAP, ChangeLine, line_ranges
from ..values.changes import Hunk
from .outline import Outline

#: Lines before and after a hunk that are always shown.
NEAR_LINES = 8
#: Maximum lines of a function that is shown whole.
MAX_FUNCTION_LINES = 40
#: Gaps of so few lines are filled.
_MAX_FILLED = 2


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """Lines of one changed file for one request; None between lines that do not follow each other."""

    lines: tuple[ChangeLine | None, ...]

    @property
    def reviewed(self) -> tuple[tuple[int, int], ...]:
        """Ranges of the new lines to review."""
        return line_ranges(line.new for line in self.lines if line and line.old is None and line.new)

    def render(self) -> str:
        """Return the lines with their numbers and marks."""
        numbers = (number for line in self.lines if line for number in (line.old, line.new) if number)
        width = len(str(max(numbers, default=0)))
        return "".join(f"{GAP if line is None else line.format(width)}\n" for line in self.lines)


def change_lines(lines: Sequence[str], outline: Outline, hunks: Sequence[Hunk]) -> ChangedLines:
    """Return the changed lines of a text, with the lines around them."""
    shown = _fill({number for hunk in hunks for number in _context(hunk, outline, len(lines))})
    changed: list[ChangeLine | None] = []
    at, offset = 1, 0
    for hunk in hunks:
        changed += _unchanged(lines, shown, at, hunk.new_start, offset)
        changed += [ChangeLine(hunk.old_start + n, None, text) for n, text in enumerate(hunk.removed)]
        changed += [ChangeLine(None, n, lines[n - 1]) for n in hunk.added if n <= len(lines)]
        at = hunk.new_start + hunk.new_count
        offset = hunk.old_start + hunk.old_count - at
    changed += _unchanged(lines, shown, at, len(lines) + 1, offset)
    return ChangedLines(tuple(_without_needless_gaps(changed)))


def split_change(change: ChangedLines, max_bytes: int) -> tuple[list[ChangedLines], list[int]]:
    """Return parts of at most `max_bytes`, and the numbers of new or removed lines that fit in none.

    A part ends between two hunks where possible, else at a blank line.
    """
    fitting = [line for line in change.lines if _cost(line) <= max_bytes]
    skipped = [line.new or line.old or 0 for line in change.lines if line and _cost(line) > max_bytes]
    parts: list[list[ChangeLine | None]] = []
    while fitting:
        taken = _take(fitting, max_bytes)
        parts.append(fitting[:taken])
        fitting = fitting[taken:]
    with_changes = (part for part in parts if any(line and line.is_changed for line in part))
    return [ChangedLines(tuple(_without_needless_gaps(part))) for part in with_changes], skipped


def _take(lines: Sequence[ChangeLine | None], max_bytes: int) -> int:
    """Return how many lines fit; up to a gap or a blank line, if there is one in the second half."""
    size = count = 0
    while count < len(lines) and size + _cost(lines[count]) <= max_bytes:
        size += _cost(lines[count])
        count += 1
    if count == len(lines):
        return count
    second_half = range(count, count // 2, -1)
    gap = next((at for at in second_half if lines[at] is None), None)
    blank = (at for at in second_half if not getattr(lines[at], "text", "").strip())
    return next(blank, count) if gap is None else gap


def _cost(line: ChangeLine | None) -> int:
    return 4 if line is None else len(line.format(7).encode()) + 1


def _context(hunk: Hunk, outline: Outline, last: int) -> Iterator[int]:
    """Yield the numbers of unchanged lines around a hunk, also of its own lines."""
    first, end = hunk.new_start, hunk.new_start + hunk.new_count - 1
    yield from range(max(first - NEAR_LINES, 1), min(max(end, first - 1) + NEAR_LINES, last) + 1)
    for line in (first, max(end, first)):
        for around in outline.enclosing(line):
            yield from around.signature
            if around.end - around.start < MAX_FUNCTION_LINES:
                yield from range(around.start, min(around.end, last) + 1)


def _fill(shown: set[int]) -> set[int]:
    """Return the lines with small gaps filled."""
    numbers = sorted(shown)
    gaps = pairwise(numbers)
    return shown.union(
        n for first, last in gaps if last - first - 1 <= _MAX_FILLED for n in range(first + 1, last)
    )


def _unchanged(
    lines: Sequence[str], shown: set[int], start: int, stop: int, offset: int
) -> Iterator[ChangeLine | None]:
    """Yield the shown lines from `start` up to `stop`, with a gap where lines are missing."""
    for number in range(start, stop):
        if number in shown:
            yield ChangeLine(number + offset, number, lines[number - 1])
        elif number == start or number - 1 in shown:
            yield None


def _without_needless_gaps(lines: Iterable[ChangeLine | None]) -> Iterator[ChangeLine | None]:
    """Yield the lines without gaps at both ends and without repeated ones."""
    has_line = has_gap = False
    for line in lines:
        if line is None:
            has_gap = has_line
            continue
        if has_gap:
            yield None
        yield line
        has_line, has_gap = True, False
