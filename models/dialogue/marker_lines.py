"""A line with markers, cut into the markers and the prose around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .markers import Found, Marker

#: What stands between a marker and the prose after it, and what may stand before a marker on its line.
_AFTER = " \t*_:—–-"
_BEFORE = " \t>*_-+#.)0123456789"
_BOLD = " \t*_"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A marker of a line and its label, which may stand behind the bracket."""

    found: Found
    label: str

    def bound(self, agent: str | None, number: int | None, line: int) -> Marker:
        """The marker, said by this agent in this round and line."""
        read = self.found.marker
        column = self.found.start + 1
        return Marker(read.type, read.refs, self.label, agent, number, line, column, read.raw_ids)


def pieces_of(text: str, found: Sequence[Found]) -> Iterator[str | Labelled]:
    """The markers, and as text the prose before, between and after them, without bullets and stars."""
    first = found[0].start
    if first and text[:first].strip(_BEFORE):
        yield text[:first].rstrip(_BOLD)
    for i, it in enumerate(found):
        last = i + 1 == len(found)
        after = text[it.end : None if last else found[i + 1].start].lstrip(_AFTER)
        after = after.rstrip(None if last else _BOLD)
        yield Labelled(it, it.marker.label or after)
        if it.marker.label and after:
            yield after
