"""Conversion of lines to blocks (prose, markers, tables), and the escapes of prose.

A backslash keeps prose prose: with one, `## Round 3` is a sentence, not a round. In the text of any field,
one backslash more is written before what would otherwise be read as structure, and one is removed again when
it is read. Nothing is lost, with any number of backslashes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..findings import FormNotes, FormRule
from ..headings.headings import SECTION, AgentHeading, Heading, JudgeHeading, RoundHeading, read_heading
from ..headings.names import ExpertNames
from ..lines import is_structure, read_metadata, underlined_heading
from ..markers.markers import (
    FoundMarker,
    LineMarkers,
    escape_markers,
    find_markers,
    split_line,
    unescape_markers,
)
from ..model import metadata_of
from ..parts import Block, Judge, Metadata, Part, Prose, Round, Section, Turn
from ..scan import Line, LineReader, fence_of, opens_comment
from ..tables import Table, is_list_of_ids, is_separator, raw_cells, read_row, separator
from ..text.line_text import has_bracket, plain

_STARTS = "#|`~<>*_-+=\\"


def escape_prose(text: str, names: ExpertNames, *, preamble: bool = False) -> str:
    """Return `text` escaped as prose. `preamble`: it is before the first heading, among the metadata."""
    if not any(c in text for c in "#|`~<[［【_*=-\\"):
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
        out.append(_line(line.text, names, preamble=preamble, loose=loose, above=above))
        above = "" if before.strip() else line.text
    return "\n".join(out)


def _line(text: str, names: ExpertNames, *, preamble: bool, loose: bool, above: str) -> str:
    """Return one line. `loose`: a fence or a comment that it opens would never be closed."""
    text = escape_markers(text)
    body = text.lstrip()
    bare = body.lstrip("\\")
    slashes = len(body) - len(bare)
    indent = text[: len(text) - len(body)]
    needed = _means_something(
        indent + bare, names, preamble=preamble, delimiters=loose or slashes > 0, above=above
    )
    return f"{indent}\\{body}" if needed else text


def unescape_prose(text: str, names: ExpertNames, *, preamble: bool = False, above: str = "") -> str:
    """Return a line of prose without the backslashes that protected it; `above` is the line before it."""
    if "\\" not in text:
        return text
    body = text.lstrip()
    indent, bare = text[: len(text) - len(body)], body.lstrip("\\")
    if bare != body and _means_something(
        indent + bare, names, preamble=preamble, delimiters=True, above=above
    ):
        text = indent + body[1:]
    return unescape_markers(text)


def _means_something(text: str, names: ExpertNames, *, preamble: bool, delimiters: bool, above: str) -> bool:
    """Return whether a line of prose would be read as something else."""
    if text.lstrip()[:1] not in _STARTS and not text.lstrip()[:1].isdecimal():
        return False
    if underlined_heading(above, text, names):
        return True
    if delimiters and (fence_of(text)[0] or opens_comment(text)):
        return True
    return is_structure(text, names) or (preamble and read_metadata(text) is not None)


class BlockReader:
    """Reader of lines as blocks; `agent` and `number` are those of the turn that contains the lines."""

    def __init__(self, names: ExpertNames, *, agent: str | None = None, number: int | None = None) -> None:
        self.notes = FormNotes()
        self.blocks: list[Block] = []
        self._names = names
        self._agent, self._number = agent, number
        self._metadata: list[Metadata] = []
        self._preamble = self.blocks
        #: Headings that were not read as turns, and lines that are not headings only because of the participants.
        self._passed_over: set[Heading] = set()
        self._prose: list[str] = []
        self._prose_line = 0
        #: The first line of the paragraph that is being read, until a second one follows.
        self._above = ""
        self._rows: list[tuple[Line, tuple[str, ...]]] = []

    def read_prose(self, reader: LineReader) -> None:
        """Take lines of one turn's text, where headings are just text."""
        for line in reader.lines():
            self._line(line, "" if line.hidden else line.text.lstrip()[:1])
        self._end_blocks()

    def _header_line(self, line: Line) -> bool:  # noqa: ARG002
        """Return True for a line that is taken as metadata."""
        return False

    def _begun_by(self, line: Line, text: str) -> str | None:  # noqa: ARG002
        """Return the canonical heading of a part that `text` begins, without the marker after it; None: plain text."""
        return None

    def _note_skipped_heading(self, text: str) -> None:
        """Record the heading that a line would be if the participants were known."""
        heading = read_heading(text)
        if heading is None and self._above and not text.strip("- \t"):
            heading = Heading(SECTION, plain(self._above))
        if heading is not None:
            self._passed_over.add(heading)

    def _line(self, line: Line, head: str) -> None:
        text = line.text
        if head == "|":
            self._rows.append((line, read_row(text)))
            return
        if self._rows:
            self._end_table()
        if head and self._header_line(line):
            return
        if not self._prose:
            self._prose_line = line.number
        if head and has_bracket(text):
            markers = find_markers(text)
            if markers.unclosed or markers.near:
                self._note_markers(line, markers)
            if markers.found:
                self._markers(line, markers.found)
                return
        if head and head in "\\-":
            self._note_skipped_heading(text.lstrip(" \t\\"))
        if head:
            text = unescape_prose(
                text, self._names, preamble=self.blocks is self._preamble, above=self._above
            )
        self._above = "" if not head or (self._prose and self._prose[-1].strip()) else text
        self._prose.append(text)

    def _end_blocks(self) -> None:
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
        entries = metadata_of(table) if self.blocks is self._preamble else None
        if entries is not None:
            self._metadata += entries
            return
        self.blocks.append(table)
        if not is_list_of_ids(table):
            for line in texts:
                self._markers_of_row(line)

    def _markers_of_row(self, line: Line) -> None:
        """Take the markers of a row: each is repeated after its table."""
        found = (
            [it for cell in raw_cells(line.text) for it in find_markers(cell).found]
            if has_bracket(line.text)
            else []
        )
        for it in found:
            self.notes.add(FormRule.MARKER, line.number)
            self.blocks.append(replace(it.marker, agent=self._agent, round=self._number, line=line.number))

    def _note_markers(self, line: Line, markers: LineMarkers) -> None:
        for at in markers.unclosed:
            self.notes.add(FormRule.UNCLOSED_MARKER, line.number, column=at + 1)
        for at, end, word in markers.near:
            hint = f"{line.text[: at + 1]}{word}{line.text[end:]}"
            self.notes.add(FormRule.NEAR_MARKER, line.number, column=at + 1, hint=hint)

    def _markers(self, line: Line, found: list[FoundMarker]) -> None:
        """Take a line with markers: each is a block of its own, and so is the prose around it."""
        canonical: list[str] = []
        for piece in split_line(line.text, found):
            if isinstance(piece, str) and not canonical and (heading := self._begun_by(line, piece)):
                canonical.append(heading)
                continue
            if isinstance(piece, str):
                said = unescape_prose(piece, self._names)
                # On a line of its own it may begin like a heading or a fence, and stays a sentence.
                body = said.lstrip()
                kept = escape_prose(body, self._names, preamble=self.blocks is self._preamble)
                canonical.append(said[: len(said) - len(body)] + kept)
                self._add_prose(said, line.number, on_own=len(canonical) > 1)
                continue
            self._end_prose()
            marker = piece.to_marker(self._agent, self._number, line.number)
            self.blocks.append(marker)
            canonical.append(str(marker))
        if found[0].start or len(canonical) > 1:
            hint = "\n".join(canonical)
            self.notes.add(FormRule.MARKER, line.number, column=found[0].start + 1, hint=hint)
        else:
            self.notes.compare(FormRule.MARKER, line.number, text=line.text, canonical="\n".join(canonical))

    def _add_prose(self, text: str, line: int, *, on_own: bool) -> None:
        """Add the prose of a line with markers: text before them continues the previous prose, the rest is separate."""
        if on_own:
            self.blocks.append(Prose(text, line))
        else:
            self._prose.append(text)


@dataclass(slots=True)
class TurnDraft:
    """A turn that is being read."""

    heading: AgentHeading
    line: int
    blocks: list[Block] = field(default_factory=list)

    def build(self) -> Turn:
        """Return the turn."""
        heading = self.heading
        return Turn(heading.name, heading.emoji, heading.extra, tuple(self.blocks), self.line)


@dataclass(slots=True)
class PartDraft:
    """A part that is being read; only a round has turns."""

    heading: RoundHeading | JudgeHeading | str
    line: int
    blocks: list[Block] = field(default_factory=list)
    turns: list[TurnDraft] = field(default_factory=list)

    def build(self) -> Part:
        """Return the part."""
        blocks = tuple(self.blocks)
        match self.heading:
            case RoundHeading(number, label):
                turns = tuple(turn.build() for turn in self.turns)
                return Round(number, label, blocks, turns, self.line)
            case JudgeHeading(label):
                return Judge(label, blocks, self.line)
            case title:
                return Section(title, blocks, self.line)
