"""Markers: an expert's statements about perspectives and tensions, in a machine-readable form.

    [TENSION T01: Speed against safety]
    [RESOLVED MUFFIN R1-T01: Safety first]

Nested brackets balance. A marker in a code span or a comment, after a backslash, unclosed, inside
another, or with a placeholder for its id is not a marker. `split_line` cuts a line into its markers and
the prose around them.

Source: RFC 0028, "Core Type" and "Tolerance Policy".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...models.alignment.marker_refs import MarkerRef, read_refs
from ...models.alignment.vocabulary import MARKER_WORDS, NEAR_WORDS, NUMBERED, MarkerType
from ...models.errors import InvalidInput
from .brackets import closers_of, ids_after_the_colon, is_placeholder, letters_of, openers_of, read_head
from .text import HiddenSpans, escape_if_needed, has_bracket, one_line, to_ascii_width, unescape

#: Characters that a backslash may hide inside a marker.
_SPECIAL = "[]`<{［］【】"
_PLAIN = frozenset(_SPECIAL + "\\")
_DECORATION = "*_"
#: Text that may precede a marker at the beginning of a line: a list's bullet, a quote, stars.
_BEFORE_A_MARKER = " \t>*_-+#.)0123456789"
#: Characters after its word that decide whether a bracket is a marker; room for a hundred ids.
_HEAD = 500


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker. Comparisons ignore its position and the spelling of its ids.

    `agent` and `round` are those of its turn; an id may be bound to others (`MarkerRef`).
    """

    type: MarkerType
    refs: tuple[MarkerRef, ...] = ()
    label: str = ""
    agent: str | None = field(default=None, compare=False)
    round: int | None = field(default=None, compare=False)
    #: One-based position in the text; 0: made, not read.
    line: int = field(default=0, compare=False)
    column: int = field(default=0, compare=False)
    #: The ids as they were spelled.
    raw_ids: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        label = one_line(self.label)
        if not self.refs:
            # A label that reads as ids is ids: `[CONCESSION: T01]` concedes T01.
            refs, label, raw = ids_after_the_colon(label, self.type)
            object.__setattr__(self, "refs", refs)
            object.__setattr__(self, "raw_ids", self.raw_ids or raw)
        object.__setattr__(self, "label", label)
        if self.type in NUMBERED and not (self.refs or label):
            raise InvalidInput("marker", str(self), "must have an id")

    @property
    def ids(self) -> tuple[str, ...]:
        """The normalised ids."""
        return tuple(ref.id for ref in self.refs)

    def __str__(self) -> str:
        """Return the canonical spelling, which is a line of its own."""
        letters = letters_of(self.type)
        ids = ", ".join(ref.spelled(letters) for ref in self.refs)
        head = f"[{self.type.word} {ids}" if ids else f"[{self.type.word}"
        if not self.label:
            return head + "]"
        if _PLAIN.isdisjoint(self.label):
            return f"{head}: {self._guarded(self.label)}]"

        def reads_back(label: str) -> bool:
            found_markers = find_markers(line := f"{head}: {self._guarded(label)}]").found
            return [(f.marker, f.end) for f in found_markers] == [(self, len(line))]

        return f"{head}: {self._guarded(escape_if_needed(self.label, _SPECIAL, reads_back=reads_back))}]"

    def _guarded(self, label: str) -> str:
        r"""Protect a label that looks like a placeholder: `[TENSION: \Pnn]` is about a thing with this name."""
        return f"\\{label}" if not self.refs and is_placeholder(label.lstrip("\\"), self.type) else label


@dataclass(frozen=True, slots=True)
class FoundMarker:
    """A marker in a line, from `start` up to `end`."""

    marker: Marker
    start: int
    end: int


@dataclass(slots=True)
class LineMarkers:
    """The markers of one line."""

    found: list[FoundMarker] = field(default_factory=list)
    #: Columns (from 0) of markers that are never closed.
    unclosed: list[int] = field(default_factory=list)
    #: Columns of brackets that only a backslash keeps from being markers.
    hidden: list[int] = field(default_factory=list)
    #: Columns of all brackets that a marker's word follows.
    openers: tuple[int, ...] = ()
    #: Columns of `[RESOLUTION T01: ...]` and the like, with the word that was meant.
    near: list[tuple[int, int, str]] = field(default_factory=list)


_NOTHING = LineMarkers()


def find_markers(line: str) -> LineMarkers:
    """Return every marker of `line`, in one pass; what is inside another marker belongs to that one's label."""
    written, line = line, to_ascii_width(line)
    if "[" not in line or not (openers := openers_of(line)):
        return _NOTHING
    hidden = HiddenSpans(line)
    openers = {at: opener for at, opener in openers.items() if at not in hidden}
    closers = closers_of(line, openers, hidden) if openers else {}
    text_from = len(line) - len(line.lstrip(_BEFORE_A_MARKER))
    result, past = LineMarkers(openers=tuple(openers)), 0
    for at, (word, after) in openers.items():
        if at < past:
            continue
        end = closers.get(at)
        if line[at - 1 : at] == "\\":
            result.hidden.append(at)
        elif end is None:
            if _unclosed(line[after : after + 40], at_start=at <= text_from):
                result.unclosed.append(at)
        elif word not in MARKER_WORDS:
            if read_refs(line[after : min(end, after + _HEAD)].lstrip(" *_")).found:
                result.near.append((at, after, NEAR_WORDS[word].word))
        elif marker := _marker(
            line, (at, after, end), MARKER_WORDS[word], at_start=at <= text_from, written=written
        ):
            result.found.append(marker)
            past = marker.end
    return result


def escape_markers(text: str) -> str:
    """Return `text` with a backslash before every bracket that would be a marker or already has a backslash."""
    if not has_bracket(text):
        return text
    markers = find_markers(text)
    if not (markers.found or markers.unclosed or markers.hidden):
        return text
    pieces, last = [], 0
    for at in markers.openers:
        pieces.append(text[last:at])
        last = at
    return "\\".join([*pieces, text[last:]])


def unescape_markers(text: str) -> str:
    """Return `text` without the backslashes of `escape_markers`."""
    hidden = find_markers(text).hidden if "\\" in text and has_bracket(text) else []
    for at in reversed(hidden):
        text = text[: at - 1] + text[at:]
    return text


def _unclosed(head: str, *, at_start: bool) -> bool:
    return bool(read_refs(head.lstrip(" *_")).found) or (at_start and head.startswith(":"))


def _marker(
    line: str, span: tuple[int, int, int], kind: MarkerType, *, at_start: bool, written: str
) -> FoundMarker | None:
    """Return the marker in the brackets of `span` (start, end of its word, end); None if it only looks like one."""
    start, after, end = span
    following = line[end + 1 : end + 8].lstrip("* ")
    if line[after].isalnum():
        return None  # a longer word
    # Only the head is looked at before the marker is accepted: a nest of look-alikes stays linear.
    loud = line[after - 1].isupper()
    alone = at_start and not line[end + 1 :].strip(" *_.")
    parts = read_head(line[after : min(end, after + _HEAD)], kind, loud=loud, alone=alone)
    if parts is None:
        return None
    refs, label_at, raw = parts
    bold = line[start + 1] in _DECORATION
    text = written[after + label_at : end].strip()
    if not refs and text.startswith("\\") and is_placeholder(text.lstrip("\\"), kind):
        text = text[1:]
    label = unescape(text.rstrip(_DECORATION) if bold else text, _SPECIAL)
    if line[end + 1 : end + 2] == "(" and not (refs and label):
        linked = line.find("):", end, end + _HEAD)
        if not refs or linked < 0 or ")" in line[end:linked]:
            return None  # a link to a marker
        end = linked  # `[TENSION T01](#t1): Speed` is one: what it is about follows
    if not refs:
        if not loud or not (at_start or label or following.startswith(":")):
            return None
        if not label and kind in NUMBERED and following.startswith(":"):
            # `[TENSION]: Speed` is one by its label alone.
            next_bracket = line.find("[", end)
            end = (next_bracket if next_bracket >= 0 else len(line)) - 1
            label = one_line(written[span[2] + 1 : end + 1]).strip(" :*_")
        if not label and kind in NUMBERED:
            return None
    return FoundMarker(Marker(kind, refs, label, column=start + 1, raw_ids=raw), start, end + 1)


#: Separators between a marker and the text after it.
_PARTING = " \t:—–-"


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


def split_line(text: str, found_markers: Sequence[FoundMarker]) -> Iterator[str | LabelledMarker]:
    """Yield the markers, and the prose around them as text without bullets and without the markers' own stars."""
    first = found_markers[0].start
    if first and text[:first].strip(_BEFORE_A_MARKER):
        yield _before(text[:first])
    for i, found_marker in enumerate(found_markers):
        last = i + 1 == len(found_markers)
        after = _after(text[found_marker.end : None if last else found_markers[i + 1].start])
        after = after.rstrip() if last else _before(after)
        yield LabelledMarker(found_marker, found_marker.marker.label or after)
        if found_marker.marker.label and after:
            yield after


def _before(text: str) -> str:
    """Return the prose before a marker; stars that touch the marker belong to the marker."""
    return text.rstrip(_DECORATION).rstrip()


def _after(text: str) -> str:
    """Return the prose after a marker, without the separator: `**: `, ` — `."""
    text = text.lstrip(_DECORATION)
    parted = text.lstrip(_PARTING)
    # `**[TENSION T01]:** text` closes its stars after the colon.
    closed = parted.lstrip(_DECORATION)
    return closed.lstrip(_PARTING) if text[:1] == ":" and closed[:1].isspace() else parted
