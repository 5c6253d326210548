"""Outline of a text: its functions and classes, and the lines that import names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

#: Maximum lines of a signature that are shown as context.
MAX_SIGNATURE_LINES = 6


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or class, with its lines from 1, both ends included."""

    name: str
    start: int
    end: int
    #: Last line of its signature.
    signature_end: int
    children: tuple[Definition, ...] = ()

    @property
    def signature(self) -> range:
        """Lines of the signature, with decorators."""
        return range(self.start, min(self.signature_end, self.start + MAX_SIGNATURE_LINES - 1) + 1)


@dataclass(frozen=True, slots=True)
class Outline:
    """Definitions of a text in their order, and the numbers of the lines with imports."""

    definitions: tuple[Definition, ...] = ()
    imports: tuple[int, ...] = field(default=())

    def enclosing(self, line: int) -> list[Definition]:
        """Return the definitions around a line, outermost first."""
        found: list[Definition] = []
        level: Sequence[Definition] = self.definitions
        while inner := next((it for it in level if it.start <= line <= it.end), None):
            found.append(inner)
            level = inner.children
        return found

    def every_definition(self) -> Iterator[Definition]:
        """Yield all definitions, outer ones before their children."""
        waiting = list(reversed(self.definitions))
        while waiting:
            current = waiting.pop()
            yield current
            waiting.extend(reversed(current.children))
