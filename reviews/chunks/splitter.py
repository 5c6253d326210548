"""Splitting of an item into chunks that fit in a model's window. Pure.

Each line to review is a reviewed line of exactly one chunk, or is skipped because it does not fit in any
chunk. A text is split between its functions and classes, inside those that are too long, then at blank lines,
then anywhere. Of a change, only the changed lines are reviewed; lines near them are context, and come right
after the hunk. The context of a chunk also contains the ignore comments directly above, the imports and the
signatures around its first line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...models.text.numbered_lines import ShownLine, format_line, line_ranges
from ..values.checks import read_ignore
from .outline import Definition, Outline

#: Share of a chunk that is left for context.
_CONTEXT_SHARE = 0.25
#: Lines around changed lines that are shown with them.
NEAR_LINES = 20


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


def split_item(
    lines: Sequence[str], outline: Outline, *, changed: Iterable[tuple[int, int]] | None, max_bytes: int
) -> Split:
    """Return the chunks of a text. `changed`: lines to review, None: all; `max_bytes`: of the numbered lines of one."""
    return _Splitter(lines, outline, changed, max_bytes).split()


class _Splitter:
    """State of one split."""

    def __init__(
        self,
        lines: Sequence[str],
        outline: Outline,
        changed: Iterable[tuple[int, int]] | None,
        max_bytes: int,
    ) -> None:
        self._lines = lines
        self._outline = outline
        self._max_bytes = max_bytes
        self._is_change = changed is not None
        every = range(1, len(lines) + 1)
        self._to_review = (
            list(every)
            if changed is None
            else [
                n
                for first, last in line_ranges(n for first, last in changed for n in range(first, last + 1))
                for n in range(first, last + 1)
                if n in every
            ]
        )
        self._costs = [
            len(format_line(number, text, is_reviewed=True).encode()) + 1
            for number, text in enumerate(lines, start=1)
        ]

    def split(self) -> Split:
        if self._cost(range(1, len(self._lines) + 1)) <= self._max_bytes:
            return Split((self._whole(),))
        room = int(self._max_bytes * (1 - _CONTEXT_SHARE))
        skipped = [number for number in self._to_review if self._cost([number]) > room]
        left = set(self._to_review).difference(skipped)
        groups = list(self._pack(self._pieces(left, room), room))
        return Split(tuple(self._chunk(group) for group in groups), tuple(skipped))

    def _whole(self) -> Chunk:
        reviewed = set(self._to_review)
        first = self._near(reviewed) | reviewed if self._is_change else set[int]()
        rest = [number for number in range(1, len(self._lines) + 1) if number not in first]
        return self._shown([*sorted(first), *rest], reviewed)

    def _near(self, reviewed: set[int]) -> set[int]:
        """Return the lines around the hunks."""
        near = {
            number
            for first, last in line_ranges(reviewed)
            for number in range(first - NEAR_LINES, last + NEAR_LINES + 1)
        }
        return {number for number in near if 1 <= number <= len(self._lines)}

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
        """Yield lines of context, the most useful first.

        These are ignore comments above, signatures around, imports, and near lines of a change.
        """
        firsts = [first for first, _ in line_ranges(group)]
        for line in firsts:
            yield from self._ignores_above(line)
        for line in firsts:
            for around in self._outline.enclosing(line):
                yield from around.signature
        if self._is_change:
            yield from (n for distance in (1, 2, 3) for n in self._at_distance(group, distance))
        yield from self._outline.imports
        if self._is_change:
            yield from (
                n for distance in range(4, NEAR_LINES + 1) for n in self._at_distance(group, distance)
            )

    def _ignores_above(self, line: int) -> Iterator[int]:
        """Yield the lines with nothing but an ignore comment directly above a line: they cover it."""
        above = line - 1
        while above >= 1 and (ignore := read_ignore(self._lines[above - 1])) and ignore.is_alone:
            yield above
            above -= 1

    def _at_distance(self, group: Sequence[int], distance: int) -> Iterator[int]:
        for first, last in line_ranges(group):
            yield from (n for n in (first - distance, last + distance) if 1 <= n <= len(self._lines))

    def _shown(self, numbers: Iterable[int], reviewed: set[int]) -> Chunk:
        return Chunk(
            tuple((number, ShownLine(self._lines[number - 1], number in reviewed)) for number in numbers)
        )

    def _cost(self, numbers: Iterable[int]) -> int:
        return sum(self._costs[number - 1] for number in numbers)
