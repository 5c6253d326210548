"""`parse`: a document's text into the model; `scan`: its lines with their kinds.

Source: RFC 0028, "Interface: DialogueFormat".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from .blocks import BlockReader
from .experts import ExpertNames
from .findings import FormNote, FormRule
from .headings import SECTION, TITLE, AgentHeading, Heading, JudgeHeading, RoundHeading, read_heading
from .lines import (
    Content,
    DialogueLine,
    Heading1,
    Line,
    LineReader,
    MetadataLine,
    SectionHeading,
    classify,
    read_metadata,
)
from .markers import Marker, find_markers
from .model import AlignmentDialogue, Block, Judge, Metadata, Part, Round, Section, Turn, names_of
from .outline import Outline, Start
from .text import has_bracket, plain

_RULES = ("---", "***", "___")
_FORMS = {RoundHeading: FormRule.ROUND, JudgeHeading: FormRule.JUDGE, AgentHeading: FormRule.AGENT}


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document, its spellings that are not canonical, and the outline of its lines."""

    document: AlignmentDialogue
    notes: tuple[FormNote, ...]
    lines: Sequence[Line]
    outline: Outline
    names: ExpertNames


def parse(markdown: str) -> AlignmentDialogue:
    """Parse `markdown`. Any text is a document; `lint` reports its problems."""
    return read(markdown).document


def parse_markers(text: str, agent: str | None = None, round: int | None = None) -> tuple[Marker, ...]:  # noqa: A002
    """Return the markers of what one expert said, in order, each with this agent and round."""
    return tuple(block for block in read_blocks(text, agent, round) if isinstance(block, Marker))


def read_blocks(text: str, agent: str | None = None, number: int | None = None) -> list[Block]:
    """Return the blocks of one turn's text, where headings are just text."""
    reader = BlockReader(ExpertNames(), agent=agent, number=number)
    for line in LineReader(text).lines():
        reader.read_line(line)
    reader.end_blocks()
    return reader.blocks


def read(markdown: str) -> ParsedDocument:
    """Return the document, with the data on its spelling that `lint` needs."""
    reader = LineReader(markdown)
    lines = list(reader.lines())
    builder = _reading(lines, ExpertNames())
    if names := names_of(builder.metadata, tuple(builder.preamble), builder.parts):
        builder = _reading(lines, names)
    document = AlignmentDialogue(
        builder.title, tuple(builder.metadata), tuple(builder.preamble), tuple(builder.parts)
    )
    if reader.open_fence:
        builder.notes.add(FormRule.UNCLOSED_FENCE, reader.open_fence)
    for number in reader.open_comments:
        builder.notes.add(FormRule.UNCLOSED_COMMENT, number)
    notes = sorted(builder.notes.found, key=lambda note: (note.line, note.column))
    return ParsedDocument(document, tuple(notes), lines, builder.outline, names)


def _reading(lines: Sequence[Line], names: ExpertNames) -> _Builder:
    """Return the parts of the document as they are read with these experts."""
    outline = Outline(lines, names)
    if outline.bold_rounds and not outline.has_rounds:
        # The document has no round headings: bold lines are used instead.
        outline = Outline(lines, names, bold=True)
    return _Builder(lines, names, outline)


@dataclass(slots=True)
class _Draft:
    """A part or a turn that is being read; only a round has turns."""

    start: Start
    line: int
    blocks: list[Block] = field(default_factory=list)
    turns: list[tuple[AgentHeading, _Draft]] = field(default_factory=list)

    def build(self) -> Part:
        """Return the part."""
        blocks = tuple(self.blocks)
        match self.start:
            case RoundHeading(number, label):
                turns = (
                    Turn(heading.name, heading.emoji, heading.extra, tuple(draft.blocks), draft.line)
                    for heading, draft in self.turns
                )
                return Round(number, label, blocks, tuple(turns), self.line)
            case JudgeHeading(label):
                return Judge(label, blocks, self.line)
            case start:
                return Section(start.text if isinstance(start, Heading) else start.name, blocks, self.line)


class _Builder(BlockReader):
    """Builder of a document from its lines, by their outline."""

    def __init__(self, lines: Sequence[Line], names: ExpertNames, outline: Outline) -> None:
        super().__init__(names)
        self.outline = outline
        self.title = ""
        self.preamble = self.blocks
        self._parts: list[_Draft] = []
        self._round: _Draft | None = None
        self._titled, self._in_header = False, True
        for line in lines:
            start = outline.starts.get(line.number)
            if line.number in outline.underlines:
                self.notes.add(FormRule.UNDERLINED, line.number, hint="")
            elif start is not None:
                self._begin(line, start)
            elif not self._is_metadata(line):
                self.read_line(line)
        self.end_blocks()
        self.parts = [part.build() for part in self._parts]

    def _is_metadata(self, line: Line) -> bool:
        """Take a line of metadata. Metadata ends with the first other line; a sentence may precede it."""
        text = "" if line.hidden else line.text.strip()
        if not self._in_header or not text or text[0] == "|":
            return False
        entry = read_metadata(line.text) if self._titled or line.text.startswith("**") else None
        if entry:
            if self._rows:
                self._end_table()
            self.metadata.append(Metadata(entry.key, entry.value))
            self.notes.compare(FormRule.METADATA, line.number, text=line.text, canonical=str(entry))
        elif self.metadata or not self._titled or text in _RULES or read_heading(line.text):
            self._in_header = False
        return entry is not None

    def _begin(self, line: Line, start: Start) -> None:
        """Begin what a line begins."""
        self.end_blocks()
        self._in_header = isinstance(start, Heading) and start.level == TITLE
        spoken = self.outline.spoken.get(line.number)
        if isinstance(start, Heading) and start.level == TITLE:
            self.title, self._titled = start.text, True
            self.notes.compare(FormRule.TITLE, line.number, text=line.text, canonical=str(start))
            return
        draft = _Draft(start, line.number)
        self.blocks, self.agent = draft.blocks, None
        quotable = line.number in self.outline.quotable or spoken is not None
        self.place = replace(self.place, preamble=False, quotable=quotable)
        if isinstance(start, AgentHeading) and self._round:
            self._round.turns.append((start, draft))
            self.agent = start.name
        else:
            self._parts.append(draft)
        if isinstance(start, RoundHeading):
            self._round, self.number = draft, start.number
        if spoken:
            hint = "\n\n".join(filter(None, (str(start), spoken.said)))
            self.notes.add(FormRule.AGENT, line.number, hint=hint)
            self.read_line(line, spoken=spoken.before)
            return
        marked = find_markers(line.text).found if has_bracket(line.text) else []
        if marked:
            self._markers(line, marked, heading=str(start))
        else:
            form = _FORMS.get(type(start), FormRule.SECTION)
            self.notes.compare(form, line.number, text=line.text, canonical=str(start))


@dataclass(frozen=True, slots=True)
class ScannedLine:
    """A line, its kind, and its section and round."""

    number: int
    raw: str
    line: DialogueLine
    fenced: bool
    section: str
    round: int | None


def scan(markdown: str) -> Iterator[ScannedLine]:
    """Yield every line with its kind, its section and its round."""
    parsed = read(markdown)
    section, number, in_header = "", None, True
    for line in parsed.lines:
        start = parsed.outline.starts.get(line.number)
        kind = Content(line.text.strip()) if line.hidden else classify(line.text)
        heading = read_heading(line.text) or Heading(SECTION, plain(line.text))
        if isinstance(start, RoundHeading):
            section, number = heading.text, start.number
            kind = start if isinstance(kind, SectionHeading) else kind
        elif isinstance(start, Heading | JudgeHeading) and heading.level <= SECTION:
            section, number = heading.text, None
        in_header = isinstance(kind, Heading1) if start is not None else in_header
        if not in_header and isinstance(kind, MetadataLine):
            kind = Content(line.text.strip())
        yield ScannedLine(line.number, line.raw, kind, line.hidden, section, number)
