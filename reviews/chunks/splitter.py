"""Splitting of an item into chunks that fit in a model's window. Pure.

Each line to review is a reviewed line of exactly one chunk, or is skipped because it does not fit in any
chunk. A text is split between its functions and classes, inside those that are too long, then at blank lines,
then anywhere. The context of a chunk contains the ignore comments directly above, the imports and the signatures
around its first line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...models.text.numbered_lines import ShownLine, format_line, line_ranges
from ..values.checks import read_ignore
from .outline import Definition, Outline

#: Share of a chunk that is left for context.
_CONTEXT_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines of an item for one request, in the order in which they are shown."""

    lines: tuple[tuple[int, ShownLine], ...]

    @property
    def reviewed(self) -> tuple[tuple[int, int], ...]:
        """Ranges of the lines to review."""
        return line_ranges(number for number, line in self.lines if line.is_reviewed)

    def render(self) -> str:
        """Return the numbered lines."""
        return "".join(
            f"{format_line(number, line.text, is_reviewed=line.is_reviewed)}\n" for number, line in self.lines
        )


@dataclass(frozen=True, slots=True)
class Split:
    """Chunks of an item, and the lines that fit in none."""

    chunks: tuple[Chunk, ...]
    skipped: tuple[int, ...] = ()


def split_item(lines: Sequence[str], outline: Outline, *, max_bytes: int) -> Split:
    """Return the chunks of a text. `max_bytes`: of the numbered lines of one."""
    return _Splitter(lines, outline, max_bytes).split()


class _Splitter:
    """State of one split."""

    def __init__(self, lines: Sequence[str], outline: Outline, max_bytes: int) -> None:
        self._lines = lines
        self._outline = outline
        self._max_bytes = max_bytes
        self._numbers = range(1, len(lines) + 1)
        self._costs = [
            len(format_line(number, text, is_reviewed=True).encode()) + 1
            for number, text in enumerate(lines, start=1)
        ]

    def split(self) -> Split:
        if self._cost(self._numbers) <= self._max_bytes:
            return Split((self._shown(self._numbers, set(self._numbers)),))
        room = int(self._max_bytes * (1 - _CONTEXT_SHARE))
        skipped = [number for number in self._numbers if self._cost([number]) > room]
        left = set(self._numbers).difference(skipped)
        groups = list(self._pack(self._pieces(left, room), room))
        return Split(tuple(self._chunk(group) for group in groups), tuple(skipped))

    def _pieces(self, left: set[int], room: int) -> Iterator[list[int]]:
        """Yield lines that belong together, each within `room`."""
        for span in self._spans(self._outline.definitions, 1, len(self._lines), room):
            numbers = [number for number in span if number in left]
            while numbers:
                taken = self._take(numbers, room)
                yield numbers[:taken]
                numbers = numbers[taken:]

    def _spans(self, definitions: Sequence[Definition], start: int, end: int, room: int) -> Iterator[range]:
        """Yield ranges from `start` to `end`: definitions, split into their children if too long, and gaps."""
        at = start
        for definition in definitions:
            if definition.start < at or definition.end > end:
                continue  # on a line with another one
            if definition.start > at:
                yield range(at, definition.start)
            stop = definition.end + 1
            while stop <= end and not self._lines[stop - 1].strip():
                stop += 1
            whole = range(definition.start, stop)
            if definition.children and self._cost(whole) > room:
                yield from self._spans(definition.children, definition.start, stop - 1, room)
            else:
                yield whole
            at = stop
        if at <= end:
            yield range(at, end + 1)

    def _take(self, numbers: Sequence[int], room: int) -> int:
        """Return how many of the lines fit; before a blank line, if there is one in the second half."""
        cost = count = 0
        while count < len(numbers) and cost + self._cost([numbers[count]]) <= room:
            cost += self._cost([numbers[count]])
            count += 1
        if count == len(numbers):
            return count
        blank = (
            index for index in range(count, count // 2, -1) if not self._lines[numbers[index] - 1].strip()
        )
        return next(blank, count)

    def _pack(self, pieces: Iterable[list[int]], room: int) -> Iterator[list[int]]:
        """Yield consecutive pieces together, as many as fit."""
        group: list[int] = []
        for piece in pieces:
            if group and self._cost(group) + self._cost(piece) > room:
                yield group
                group = []
            group = [*group, *piece]
        if group:
            yield group

    def _chunk(self, group: Sequence[int]) -> Chunk:
        """Return the chunk of some lines to review, with as much context as fits."""
        reviewed, room = set(group), self._max_bytes - self._cost(group)
        context: set[int] = set()
        for number in self._context(group):
            if number in reviewed or number in context:
                continue
            if self._cost([number]) > room:
                break
            context.add(number)
            room -= self._cost([number])
        return self._shown(sorted(reviewed | context), reviewed)

    def _context(self, group: Sequence[int]) -> Iterator[int]:
        """Yield lines of context, the most useful first: ignore comments above, signatures around, imports."""
        firsts = [first for first, _ in line_ranges(group)]
        for line in firsts:
            yield from self._ignores_above(line)
        for line in firsts:
            for around in self._outline.enclosing(line):
                yield from around.signature
        yield from self._outline.imports

    def _ignores_above(self, line: int) -> Iterator[int]:
        """Yield the lines with nothing but an ignore comment directly above a line: they cover it."""
        above = line - 1
        while above >= 1 and (ignore := read_ignore(self._lines[above - 1])) and ignore.is_alone:
            yield above
            above -= 1

    def _shown(self, numbers: Iterable[int], reviewed: set[int]) -> Chunk:
        return Chunk(
            tuple((number, ShownLine(self._lines[number - 1], number in reviewed)) for number in numbers)
        )

    def _cost(self, numbers: Iterable[int]) -> int:
        return sum(self._costs[number - 1] for number in numbers)
