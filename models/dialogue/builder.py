"""Puts a document together: lines into blocks, blocks into turns and parts."""

from __future__ import annotations

from dataclasses import replace

from .document import AlignmentDialogue, Block, Metadata, Prose
from .drafts import PartDraft, TurnDraft
from .escapes import protect, reveal
from .headings import (
    SECTION,
    TITLE,
    AgentHeading,
    Heading,
    read_heading,
    read_judge,
)
from .lines import read_metadata
from .marker_lines import pieces_of
from .markers import Found, MarkersOfLine, find_markers
from .names import Expert, Names, gather, person
from .notes import Form, Notes
from .round_headings import read_bold_round, round_of
from .scan import Line, LineReader
from .tables import Table, is_list_of_ids, is_separator, raw_cells, read_row, separator
from .text import has_bracket, split_emoji
from .tidying import metadata_of
from .turn_headings import read_agent
from .words import SECTION_WORDS

_RULES = ("---", "***", "___")


class Builder:
    """Takes lines and keeps the parts so far. `agent` and `number` are of the turn that text without headings is.

    `bold`: a line that is all bold may begin a round; else `bold_rounds` tells whether one would.
    """

    def __init__(
        self, names: Names, *, agent: str | None = None, number: int | None = None, bold: bool = False
    ) -> None:
        self.notes = Notes()
        self._bold = bold
        self.bold_rounds = False
        self.blocks: list[Block] = []
        self._names = names
        #: Names, in lower case, that headings begin with which were not taken for a turn's.
        self._passed_over: set[str] = set()
        self._agent, self._number = agent, number
        self._title: str | None = None
        self._metadata: list[Metadata] = []
        self._preamble = self.blocks
        self._parts: list[PartDraft] = []
        #: The round that turns are added to; None outside of rounds.
        self._round: PartDraft | None = None
        self._last_round: PartDraft | None = None
        self._agents: dict[Heading, AgentHeading | None] = {}
        self._last_number: int | None = None
        self._round_level = SECTION
        #: An expert's heading below this level belongs to whoever is speaking; 0: nobody is.
        self._speaking_level = 0
        self._in_header = False
        self._prose: list[str] = []
        self._prose_line = 0
        self._rows: list[tuple[Line, tuple[str, ...]]] = []

    def read(self, reader: LineReader, *, until_round: bool = False) -> None:
        """Takes a document's lines, all of them or those before the first round."""
        self._in_header = True
        for line in reader.lines():
            head = "" if line.hidden else line.text.lstrip()[:1]
            heading = read_heading(line.text) if head == "#" else None
            if heading is None and head and head in "*_":
                heading = self._bold_heading(line.text)
            if heading is None:
                self._line(line, head)
                continue
            if until_round and self._title is not None and round_of(heading, last=None):
                break
            self._heading(line, heading)
        self._end_blocks()

    def read_prose(self, reader: LineReader) -> None:
        """Takes lines of one turn's text, where headings are just text."""
        for line in reader.lines():
            self._line(line, "" if line.hidden else line.text.lstrip()[:1])
        self._end_blocks()

    def finished(self) -> AlignmentDialogue:
        """The document."""
        parts = tuple(part.finished() for part in self._parts)
        return AlignmentDialogue(self._title or "", tuple(self._metadata), tuple(self._preamble), parts)

    @property
    def has_rounds(self) -> bool:
        """True when a round has begun."""
        return self._last_round is not None

    def heard(self) -> Names:
        """Those who took a turn, if headings that were passed over may be theirs as well; nobody otherwise."""
        turns = (turn.heading for part in self._parts for turn in part.turns)
        names = gather(Expert(it.name, it.emoji) for it in turns)
        return names if self._passed_over & names.experts.keys() else Names()

    def _bold_heading(self, text: str) -> Heading | None:
        """The heading that a line in bold stands for."""
        begun = read_bold_round(text)
        self.bold_rounds = self.bold_rounds or begun is not None
        return Heading(SECTION, str(begun).lstrip("# ")) if begun and self._bold else None

    def _line(self, line: Line, head: str) -> None:
        text = line.text
        if head == "|":
            self._rows.append((line, read_row(text)))
            return
        if self._rows:
            self._end_table()
        if head and self._in_header and self._header_line(line):
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
        if head == "\\":
            self._pass_over(read_heading(text.lstrip(" \t\\")))
        self._prose.append(
            reveal(text, self._names, preamble=self.blocks is self._preamble) if head else text
        )

    def _header_line(self, line: Line) -> bool:
        """Takes a line of metadata. They end with the first line that is none; before them, a sentence may stand."""
        titled = self._title is not None
        entry = read_metadata(line.text) if titled or line.text.startswith("**") else None
        if entry:
            self._metadata.append(Metadata(entry.key, entry.value))
            self.notes.compare(Form.METADATA, line.number, text=line.text, canonical=str(entry))
        elif self._metadata or not titled or line.text.strip() in _RULES:
            self._in_header = False
        return entry is not None

    def _heading(self, line: Line, heading: Heading) -> None:
        if self._title is None and heading.level == TITLE and not self._parts:
            self._end_blocks()
            self._title, self._in_header = heading.text, True
            self.notes.compare(Form.TITLE, line.number, text=line.text, canonical=str(heading))
            return
        self._in_header = False
        heading = Heading(max(heading.level, SECTION), heading.text)
        deepest = max(SECTION, self._round_level) if self._last_round else heading.level
        begun = None if self._is_of_an_expert(heading) else round_of(heading, last=self._last_number)
        if begun and heading.level <= deepest:
            self._begin(PartDraft(begun, line.number), level=0)
            self._round = self._last_round = self._parts[-1]
            self._round_level = heading.level
            self._number = self._last_number = begun.number
            self.notes.compare(Form.ROUND, line.number, text=line.text, canonical=str(begun))
        elif judge := read_judge(heading):
            self._begin(PartDraft(judge, line.number), level=heading.level)
            self.notes.compare(Form.JUDGE, line.number, text=line.text, canonical=str(judge))
        elif self._turn(line, heading):
            return
        else:
            self._section(line, heading)
        self._pass_over(heading)

    def _pass_over(self, heading: Heading | None) -> None:
        if heading is not None:
            self._passed_over.add(person(heading.text)[0].casefold())

    def _turn(self, line: Line, heading: Heading) -> bool:
        """Begins an expert's turn, if the heading is one's and stands where a turn may begin."""
        into = self._round or (self._last_round if heading.level == SECTION else None)
        agent = self._agent_of(heading) if into else None
        if agent and 0 < self._speaking_level < heading.level:
            # Below a turn's heading an emoji makes another turn, and a bare name a reply; the judge only discusses.
            agent = agent if self._agent is not None and agent.emoji in heading.text else None
        if into is None or agent is None:
            return False
        self._end_blocks()
        into.turns.append(TurnDraft(agent, line.number))
        self.blocks, self._agent, self._speaking_level = into.turns[-1].blocks, agent.name, heading.level
        self.notes.compare(Form.AGENT, line.number, text=line.text, canonical=str(agent))
        return True

    def _is_of_an_expert(self, heading: Heading) -> bool:
        """`Muffin — Round 1` is Muffin's turn, and not a round of that name."""
        if self._round is None or heading.text[:1].casefold() == "r":
            return False
        return self._names.get(person(heading.text)[0]) is not None

    def _agent_of(self, heading: Heading) -> AgentHeading | None:
        """The expert of a heading; the same few are read again in every round."""
        if heading not in self._agents:
            self._agents[heading] = read_agent(heading, self._names)
        return self._agents[heading]

    def _section(self, line: Line, heading: Heading) -> None:
        if heading.level > SECTION:
            self._line(line, "#")
            return
        self._begin(PartDraft(heading.text, line.number), level=0)
        if {*split_emoji(heading.text)[0].casefold().split()} & SECTION_WORDS:
            self._round = None
        self.notes.compare(Form.SECTION, line.number, text=line.text, canonical=str(heading))

    def _begin(self, part: PartDraft, *, level: int) -> None:
        self._end_blocks()
        self._parts.append(part)
        self.blocks, self._agent, self._speaking_level = part.blocks, None, level

    def _end_blocks(self) -> None:
        if self._rows:
            self._end_table()
        self._end_prose()

    def _end_prose(self) -> None:
        if self._prose:
            self.blocks.append(Prose("\n".join(self._prose), self._prose_line))
            self._prose.clear()

    def _end_table(self) -> None:
        self._end_prose()
        (first, header), *rows = self._rows
        if rows and is_separator(rows[0][1]):
            rows = rows[1:]
        else:
            self.notes.add(
                Form.SEPARATOR, first.number, hint=f"{first.text.rstrip()}\n{separator(len(header))}"
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
        """Takes the markers of a row: each stands below its table as well."""
        found = (
            [it for cell in raw_cells(line.text) for it in find_markers(cell).found]
            if has_bracket(line.text)
            else []
        )
        for it in found:
            self.notes.add(Form.MARKER, line.number)
            self.blocks.append(replace(it.marker, agent=self._agent, round=self._number, line=line.number))

    def _note_markers(self, line: Line, markers: MarkersOfLine) -> None:
        for at in markers.unclosed:
            self.notes.add(Form.UNCLOSED_MARKER, line.number, column=at + 1)
        for at, end, word in markers.near:
            hint = f"{line.text[: at + 1]}{word}{line.text[end:]}"
            self.notes.add(Form.NEAR_MARKER, line.number, column=at + 1, hint=hint)

    def _markers(self, line: Line, found: list[Found]) -> None:
        """Takes a line with markers: each is a block of its own, and so is the prose around it."""
        canonical: list[str] = []
        for piece in pieces_of(line.text, found):
            if isinstance(piece, str):
                said = reveal(piece, self._names)
                # On a line of its own it may begin like a heading or a fence, and stays a sentence.
                body = said.lstrip()
                kept = protect(body, self._names, preamble=self.blocks is self._preamble)
                canonical.append(said[: len(said) - len(body)] + kept)
                self._say(said, line.number, on_own=len(canonical) > 1)
                continue
            self._end_prose()
            marker = piece.bound(self._agent, self._number, line.number)
            self.blocks.append(marker)
            canonical.append(str(marker))
        if found[0].start or len(canonical) > 1:
            hint = "\n".join(canonical)
            self.notes.add(Form.MARKER, line.number, column=found[0].start + 1, hint=hint)
        else:
            self.notes.compare(Form.MARKER, line.number, text=line.text, canonical="\n".join(canonical))

    def _say(self, text: str, line: int, *, on_own: bool) -> None:
        """Prose of a line with markers: what stands before them goes on what was said, the rest is on its own."""
        if on_own:
            self.blocks.append(Prose(text, line))
        else:
            self._prose.append(text)
