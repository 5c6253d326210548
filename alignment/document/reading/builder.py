"""Builder of a document: lines become blocks, blocks become turns and parts."""

from __future__ import annotations

from ....models.alignment.vocabulary import DASHES
from ..findings import FormRule
from ..headings.headings import (
    SECTION,
    TITLE,
    AgentHeading,
    Heading,
    JudgeHeading,
    RoundHeading,
    is_document_section,
    read_heading,
    read_judge,
)
from ..headings.names import Expert, ExpertNames, collect_experts, split_name
from ..headings.round_headings import is_plain_round, read_round, round_of
from ..headings.round_mentions import RoundMentions, mentioned_round
from ..headings.turn_headings import read_agent
from ..lines import bold_heading, read_metadata, underlined_heading
from ..model import AlignmentDialogue
from ..parts import Metadata
from ..scan import Line, LineReader
from .blocks import BlockReader, PartDraft, TurnDraft
from .lookalikes import reads_like_round

_RULES = ("---", "***", "___")
_FORMS = {RoundHeading: FormRule.ROUND, JudgeHeading: FormRule.JUDGE, AgentHeading: FormRule.AGENT}


class Builder(BlockReader):
    """Builder of a document from its lines.

    `bold`: a line that is all bold may begin a round; otherwise `bold_rounds` records whether one would.
    `confirmed`: lines of headings under which experts spoke in an earlier reading (see `RoundMentions`).
    """

    def __init__(
        self, names: ExpertNames, *, bold: bool = False, confirmed: frozenset[int] = frozenset()
    ) -> None:
        super().__init__(names)
        self._bold = bold
        self.bold_rounds = False
        self.mentions = RoundMentions(confirmed)
        #: Lines of the headings that begin a turn, and of those that begin a round.
        self.turn_lines: set[int] = set()
        self.round_lines: set[int] = set()
        self._title: str | None = None
        self._parts: list[PartDraft] = []
        #: The round that turns are added to; None outside of rounds.
        self._round: PartDraft | None = None
        self._last_round: PartDraft | None = None
        self._agents: dict[Heading, AgentHeading | None] = {}
        self._last_number: int | None = None
        self._round_level = SECTION
        #: An expert's heading below this level belongs to the current speaker; 0: no current speaker.
        self._speaking_level = 0
        self._in_header = False

    def read(self, reader: LineReader, *, until_round: bool = False) -> None:
        """Take a document's lines, all of them or those before the first round."""
        self._in_header = True
        for line in reader.lines():
            head = "" if line.hidden else line.text.lstrip()[:1]
            heading = self._heading_of(line, head)
            if heading is None:
                if head and head in "<>" and (begun := reads_like_round(line.text)):
                    self.mentions.add_candidate_line(line.number, begun, last=self._last_number)
                self._line(line, head)
                continue
            at = line if head in "#*_" else line._replace(number=line.number - 1)
            if until_round and self._title is not None and self._round_at(at.number, heading):
                break
            self._heading(at, heading)
        self._end_blocks()

    def build(self) -> AlignmentDialogue:
        """Return the document."""
        parts = tuple(part.build() for part in self._parts)
        return AlignmentDialogue(self._title or "", tuple(self._metadata), tuple(self._preamble), parts)

    @property
    def has_rounds(self) -> bool:
        """True when a round has begun."""
        return self._last_round is not None

    def experts_heard(self) -> ExpertNames:
        """Return the experts who took a turn, if skipped headings may be theirs as well; otherwise empty."""
        turns = (turn.heading for part in self._parts for turn in part.turns)
        names = collect_experts((Expert(it.name, it.emoji) for it in turns), heard=True)
        return names if names and any(read_agent(it, names) for it in self._passed_over) else ExpertNames()

    def _heading_of(self, line: Line, head: str) -> Heading | None:
        """Return the heading that a line is; one that is underlined takes the line above from the prose."""
        if head == "#":
            return read_heading(line.text)
        if head and head in "*_":
            return self._bold_heading(line)
        heading = underlined_heading(self._above, line.text, self._names) if head and head in "=-" else None
        if heading is not None:
            self._prose.pop()
            self._above = ""
            self.notes.add(FormRule.UNDERLINED, line.number, hint="")
        return heading

    def _bold_heading(self, line: Line) -> Heading | None:
        """Return the heading that a bold line represents."""
        heading = bold_heading(line.text)
        if heading is None:
            return None
        begun = read_round(heading) or self.mentions.read(line.number, heading, last=self._last_number)
        mentioned = begun or mentioned_round(heading)
        self.bold_rounds = bool(self.bold_rounds or mentioned)
        if begun and self._bold:
            return Heading(SECTION, str(begun).lstrip("# "))
        if self._bold:
            self.mentions.add_candidate(line.number, heading, last=self._last_number, deepest=SECTION)
        elif mentioned:
            self.mentions.add_candidate_line(line.number, mentioned, last=self._last_number)
        return None

    def _header_line(self, line: Line) -> bool:
        """Take a line of metadata. Metadata ends with the first other line; a sentence may precede it."""
        if not self._in_header:
            return False
        titled = self._title is not None
        entry = read_metadata(line.text) if titled or line.text.startswith("**") else None
        if entry:
            self._metadata.append(Metadata(entry.key, entry.value))
            self.notes.compare(FormRule.METADATA, line.number, text=line.text, canonical=str(entry))
        elif self._metadata or not titled or line.text.strip() in _RULES:
            self._in_header = False
        return entry is not None

    def _heading(self, line: Line, heading: Heading) -> None:
        if self._title is None and heading.level == TITLE and not self._parts:
            self._end_blocks()
            self._title, self._in_header = heading.text, True
            self.notes.compare(FormRule.TITLE, line.number, text=line.text, canonical=str(heading))
            return
        self._in_header = False
        heading = Heading(max(heading.level, SECTION), heading.text)
        kind = self._kind(line.number, heading)
        if kind is not None:
            self._part(line, heading, kind)
            self.notes.compare(_FORMS[type(kind)], line.number, text=line.text, canonical=str(kind))
        else:
            self._section(line, heading)
        if not isinstance(kind, AgentHeading):
            self._passed_over.add(heading)

    def _kind(self, line: int, heading: Heading) -> RoundHeading | JudgeHeading | AgentHeading | None:
        """Return the part that a heading begins at its position; None: a section, or no part."""
        deepest = self._deepest(heading)
        if not self._is_of_an_expert(heading) and (begun := self._round_at(line, heading)):
            return begun
        kind = read_judge(heading) or self._speaker(heading)
        if isinstance(kind, JudgeHeading):
            self.mentions.close(heading.level)
        elif kind or self._would_speak(heading):
            self.mentions.confirm_by_turn(heading.level, last=self._last_number)
        elif self._names.get(split_name(heading.text)[0]) is None:
            self.mentions.add_candidate(line, heading, last=self._last_number, deepest=deepest)
        return kind

    def _round_at(self, line: int, heading: Heading) -> RoundHeading | None:
        """Return the round that a heading begins: by its words and level, or by who speaks under it."""
        if heading.level <= self._deepest(heading) or line in self.mentions.confirmed:
            begun = round_of(heading, last=self._last_number)
            return begun or self.mentions.read(line, heading, last=self._last_number)
        return None

    def _deepest(self, heading: Heading) -> int:
        """Return the level down to which a round's words are enough; below, a heading is part of its section."""
        if self._last_round is not None:
            return max(SECTION, self._round_level)
        return SECTION if self._parts and not is_plain_round(heading) else heading.level

    def _would_speak(self, heading: Heading) -> bool:
        """Return True for an expert's heading that is no turn only because the heading above it has begun no round."""
        discussed = self._agent is None and 0 < self._speaking_level < heading.level
        return self.mentions.pending and not discussed and self._agent_of(heading) is not None

    def _speaker(self, heading: Heading) -> AgentHeading | None:
        """Return the expert whose turn a heading begins, if a turn may begin at its place."""
        agent = self._agent_of(heading) if self._turns_into(heading) else None
        if agent and 0 < self._speaking_level < heading.level:
            # Below a turn's heading an emoji makes another turn, and a bare name a reply; the judge only discusses.
            return agent if self._agent is not None and agent.emoji in heading.text else None
        return agent

    def _turns_into(self, heading: Heading) -> PartDraft | None:
        return self._round or (self._last_round if heading.level == SECTION else None)

    def _part(self, line: Line, heading: Heading, kind: RoundHeading | JudgeHeading | AgentHeading) -> None:
        """Begin what the heading of this kind begins."""
        if isinstance(kind, RoundHeading):
            self._begin(PartDraft(kind, line.number), level=0)
            if self._last_round is None or line.number not in self.mentions.confirmed:
                self._round_level = heading.level
            self._round = self._last_round = self._parts[-1]
            self._number = self._last_number = kind.number
            self.mentions.begin_round(kind.number)
            self.round_lines.add(line.number)
        elif isinstance(kind, JudgeHeading):
            self._begin(PartDraft(kind, line.number), level=heading.level)
        elif into := self._turns_into(heading):
            self._end_blocks()
            into.turns.append(TurnDraft(kind, line.number))
            self.turn_lines.add(line.number)
            self.mentions.note_turn(line.number, kind.extra, last=self._last_number)
            self.blocks, self._agent, self._speaking_level = into.turns[-1].blocks, kind.name, heading.level

    def _begun_by(self, line: Line, text: str) -> str | None:
        """Return the heading of `### Muffin 🧁 [TENSION T01: x]`: it begins a turn that contains the rest of the line."""
        heading = read_heading(text.rstrip(f" :{DASHES}")) if text.lstrip()[:1] == "#" else None
        if heading is None or (heading.level == TITLE and self._title is None):
            return None
        heading = Heading(max(heading.level, SECTION), heading.text)
        kind = self._kind(line.number, heading)
        if kind is None:
            return None
        self._in_header = False
        self._part(line, heading, kind)
        return str(kind)

    def _is_of_an_expert(self, heading: Heading) -> bool:
        """Return True for `Muffin — Round 1`: Muffin's turn, not a round of that name."""
        if self._round is None or heading.text[:1].casefold() == "r":
            return False
        return self._names.get(split_name(heading.text)[0]) is not None

    def _agent_of(self, heading: Heading) -> AgentHeading | None:
        """Return the expert of a heading; the same few are read again in every round."""
        if heading not in self._agents:
            self._agents[heading] = read_agent(heading, self._names)
        return self._agents[heading]

    def _section(self, line: Line, heading: Heading) -> None:
        if heading.level > SECTION:
            self._line(line, "#")
            return
        self._begin(PartDraft(heading.text, line.number), level=0)
        self.mentions.begin_section(line.number, heading.text)
        if is_document_section(heading.text):
            self._round = None
        self.notes.compare(FormRule.SECTION, line.number, text=line.text, canonical=str(heading))

    def _begin(self, part: PartDraft, *, level: int) -> None:
        self._end_blocks()
        self._parts.append(part)
        self.blocks, self._agent, self._speaking_level = part.blocks, None, level
