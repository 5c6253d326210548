"""A line with markers, cut into the markers and the prose around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .markers import FoundMarker, Marker

#: Separators between a marker and the text after it, and text that may precede a marker on its line.
_PARTING = " \t:—–-"
_BEFORE = " \t>*_-+#.)0123456789"
_STARS = "*_"


@dataclass(frozen=True, slots=True)
class LabelledMarker:
    """A marker of a line and its label, which may follow the bracket."""

    found: FoundMarker
    label: str

    def to_marker(self, agent: str | None, number: int | None, line: int) -> Marker:
        """Return the marker, said by this agent in this round and line."""
        read = self.found.marker
        column = self.found.start + 1
        return Marker(read.type, read.refs, self.label, agent, number, line, column, read.raw_ids)


def split_line(text: str, found: Sequence[FoundMarker]) -> Iterator[str | LabelledMarker]:
    """Yield the markers, and the prose around them as text without bullets and without the markers' own stars."""
    first = found[0].start
    if first and text[:first].strip(_BEFORE):
        yield _before(text[:first])
    for i, it in enumerate(found):
        last = i + 1 == len(found)
        after = _after(text[it.end : None if last else found[i + 1].start])
        after = after.rstrip() if last else _before(after)
        yield LabelledMarker(it, it.marker.label or after)
        if it.marker.label and after:
            yield after


def _before(text: str) -> str:
    """Return the prose before a marker; stars that touch the marker belong to the marker."""
    return text.rstrip(_STARS).rstrip()


def _after(text: str) -> str:
    """Return the prose after a marker, without the separator: `**: `, ` — `."""
    text = text.lstrip(_STARS)
    parted = text.lstrip(_PARTING)
    # `**[TENSION T01]:** text` closes its stars after the colon.
    closed = parted.lstrip(_STARS)
    return closed.lstrip(_PARTING) if text[:1] == ":" and closed[:1].isspace() else parted
