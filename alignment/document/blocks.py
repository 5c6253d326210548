"""Conversion of lines to blocks (prose, markers, tables), and the escapes of prose.

A backslash keeps prose prose: with one, `## Round 3` is a sentence, not a round. In the text of any field,
one backslash more is written before what would otherwise be read as structure, and one is removed again when
it is read. Nothing is lost, with any number of backslashes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .experts import ExpertNames, speaker_of
from .findings import FormNotes, FormRule
from .lines import Line, LineReader, fence_of, is_structure, opens_comment, read_metadata, underlined_heading
from .markers import FoundMarker, LineMarkers, escape_markers, find_markers, split_line, unescape_markers
from .model import Block, Metadata, Prose, metadata_of
from .tables import Table, is_list_of_ids, is_separator, raw_cells, read_row, separator
from .text import has_bracket

_STARTS = "#|`~<>*_-+=\\"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of prose, on which its meaning depends."""

    names: ExpertNames
    #: Before the first heading, among the metadata.
    preamble: bool = False
    #: In a round or a section in which a line that begins with a speaker's name would begin a turn.
    quotable: bool = False

    def means_something(self, text: str, *, delimiters: bool, above: str) -> bool:
        """Return whether a line of prose would be read as something else; `above` is the line before it."""
        if self.quotable and speaker_of(text, self.names):
            return True
        if text.lstrip()[:1] not in _STARTS and not text.lstrip()[:1].isdecimal():
            return False
        if underlined_heading(above, text, self.names):
            return True
        if delimiters and (fence_of(text)[0] or opens_comment(text)):
            return True
        return is_structure(text, self.names) or (self.preamble and read_metadata(text) is not None)


def escape_prose(text: str, place: Place) -> str:
    """Return `text` escaped as prose."""
    if not place.quotable and not any(c in text for c in "#|`~<[［【_*=-\\"):
        return text
    reader = LineReader(text + "\n")
    lines = list(reader.lines())
    open_from = reader.open_fence or len(lines) + 1
    open_comments = {*reader.open_comments}
    if reader.open_fence:  # a fence that is never closed hides nothing
        lines = list(LineReader(text + "\n", bare_from=open_from).lines())
    out = []
    above = ""
    for line, before in zip(lines, ["", *(line.text for line in lines)], strict=False):
        if line.hidden:
            out.append(line.text)
            above = ""
            continue
        loose = line.number >= open_from or line.number in open_comments
        out.append(_escaped(line.text, place, loose=loose, above=above))
        above = "" if before.strip() else line.text
    return "\n".join(out)


def _escaped(text: str, place: Place, *, loose: bool, above: str) -> str:
    """Return one line. `loose`: a fence or a comment that it opens would never be closed."""
    text = escape_markers(text)
    body = text.lstrip()
    bare = body.lstrip("\\")
    indent = text[: len(text) - len(body)]
    needed = place.means_something(indent + bare, delimiters=loose or bare != body, above=above)
    return f"{indent}\\{body}" if needed else text


def unescape_prose(text: str, place: Place, *, above: str = "") -> str:
    """Return a line of prose without the backslashes that protected it; `above` is the line before it."""
    if "\\" not in text:
        return text
    body = text.lstrip()
    indent, bare = text[: len(text) - len(body)], body.lstrip("\\")
    if bare != body and place.means_something(indent + bare, delimiters=True, above=above):
        text = indent + body[1:]
    return unescape_markers(text)


class BlockReader:
    """Reader of lines as blocks; `agent` and `number` are those of the turn that contains the lines."""

    def __init__(self, names: ExpertNames, *, agent: str | None = None, number: int | None = None) -> None:
        self.notes = FormNotes()
        self.blocks: list[Block] = []
        self.metadata: list[Metadata] = []
        self.place = Place(names, preamble=True)
        self.agent, self.number = agent, number
        self._prose: list[str] = []
        self._prose_line = 0
        #: The first line of the paragraph that is being read, until a second one follows.
        self._above = ""
        self._rows: list[tuple[Line, tuple[str, ...]]] = []

    def read_line(self, line: Line, *, spoken: int = 0) -> None:
        """Take a line; its first characters, `spoken` in number, are the speaker's name."""
        text = line.text[spoken:]
        head = "" if line.hidden else text.lstrip()[:1]
        if head == "|" and not spoken:
            self._rows.append((line, read_row(text)))
            return
        if self._rows:
            self._end_table()
        if not self._prose:
            self._prose_line = line.number
        if head and has_bracket(text):
            markers = find_markers(line.text)
            if markers.unclosed or markers.near:
                self._note_markers(line, markers)
            if markers.found:
                self._markers(line, markers.found, spoken=spoken)
                return
        if head:
            text = unescape_prose(text, self.place, above=self._above)
        self._above = "" if not head or (self._prose and self._prose[-1].strip()) else text
        self._prose.append(text)

    def end_blocks(self) -> None:
        """End the block that is being read."""
        if self._rows:
            self._end_table()
        self._end_prose()

    def _end_prose(self) -> None:
        if self._prose:
            self.blocks.append(Prose("\n".join(self._prose), self._prose_line))
            self._prose.clear()
        self._above = ""

    def _end_table(self) -> None:
        self._end_prose()
        (first, header), *rows = self._rows
        if rows and is_separator(rows[0][1]):
            rows = rows[1:]
        else:
            self.notes.add(
                FormRule.SEPARATOR, first.number, hint=f"{first.text.rstrip()}\n{separator(len(header))}"
            )
        cells, lines = tuple(cells for _, cells in rows), tuple(line.number for line, _ in rows)
        table = Table(header, cells, first.number, lines)
        texts, self._rows = [line for line, _ in self._rows], []
        entries = metadata_of(table) if self.place.preamble else None
        if entries is not None:
            self.metadata += entries
            return
        self.blocks.append(table)
        if not is_list_of_ids(table):
            for line in texts:
                self._markers_of_row(line)

    def _markers_of_row(self, line: Line) -> None:
        """Take the markers of a row: each is repeated after its table."""
        cells = raw_cells(line.text) if has_bracket(line.text) else ()
        for found_marker in [marker for cell in cells for marker in find_markers(cell).found]:
            self.notes.add(FormRule.MARKER, line.number)
            self.blocks.append(
                replace(found_marker.marker, agent=self.agent, round=self.number, line=line.number)
            )

    def _note_markers(self, line: Line, markers: LineMarkers) -> None:
        for at in markers.unclosed:
            self.notes.add(FormRule.UNCLOSED_MARKER, line.number, column=at + 1)
        for at, end, word in markers.near:
            hint = f"{line.text[: at + 1]}{word}{line.text[end:]}"
            self.notes.add(FormRule.NEAR_MARKER, line.number, column=at + 1, hint=hint)

    def _markers(
        self, line: Line, found_markers: list[FoundMarker], *, spoken: int = 0, heading: str = ""
    ) -> None:
        """Take a line with markers: each is a block of its own, and so is the prose around it.

        The first `spoken` characters are the speaker's name. `heading`: what begins before the first marker.
        """
        canonical: list[str] = []
        for piece in split_line(line.text, found_markers):
            if isinstance(piece, str) and heading and not canonical:
                canonical.append(heading)
                continue
            if isinstance(piece, str):
                prose = unescape_prose(piece, self.place)
                # On a line of its own it may begin like a heading or a fence, and stays a sentence.
                body = prose.lstrip()
                place = replace(self.place, quotable=False) if spoken and not canonical else self.place
                canonical.append(prose[: len(prose) - len(body)] + escape_prose(body, place))
                if len(canonical) > 1:
                    self.blocks.append(Prose(prose, line.number))
                else:  # the text before the first marker continues the prose above
                    self._prose.append(prose[spoken:].lstrip() if spoken else prose)
                continue
            self._end_prose()
            marker = piece.to_marker(self.agent, self.number, line.number)
            self.blocks.append(marker)
            canonical.append(str(marker))
        if found_markers[0].start or len(canonical) > 1:
            hint = "\n".join(canonical)
            self.notes.add(FormRule.MARKER, line.number, column=found_markers[0].start + 1, hint=hint)
        else:
            self.notes.compare(FormRule.MARKER, line.number, text=line.text, canonical="\n".join(canonical))
