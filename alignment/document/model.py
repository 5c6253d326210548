"""The document model: an alignment document as `parse` reads it and `render` writes it.

Values are made tidy when they are built, so that two documents that are written the same are equal:
a one-line field has no line breaks, prose has no blank lines at its ends, and neighbouring
pieces of prose are one. A document's parts are normalised with the whole of it in view: which names are experts,
and which tables are metadata.

Source: RFC 0028, "Interface: DialogueFormat" (the dialogue state model).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from ...models.alignment.vocabulary import EXPERT_EMOJI, PANEL_WORDS
from ...models.errors import InvalidInput
from .experts import (
    Expert,
    ExpertNames,
    collect_experts,
    experts_in,
    experts_of,
    is_canonical,
    is_expert_emoji,
    is_judge,
    may_be_emoji_of_turn,
    read_agent,
    split_name,
)
from .headings import SECTION, AgentHeading, Heading, is_panel, read_heading, read_judge, read_round
from .lines import MetadataLine
from .markers import Marker
from .tables import Table
from .text import one_line, plain

_BOM = "\ufeff"
_LARGEST_ROUND = 999_999


@dataclass(frozen=True, slots=True)
class Prose:
    """Any Markdown that is neither a marker nor a table: paragraphs, lists, code, headings of its own."""

    text: str
    #: One-based line it begins in; 0: made, not read.
    line: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if self.text.isprintable() and self.text.strip() == self.text:
            return  # one line, and nothing to tidy
        lines = [line.rstrip("\r") for line in self.text.split("\n")]
        start, end = 0, len(lines)
        while start < end and not lines[start].strip(_BOM).strip():
            start += 1
        while end > start and not lines[end - 1].strip(_BOM).strip():
            end -= 1
        object.__setattr__(self, "text", "\n".join(lines[start:end]).lstrip(_BOM))
        object.__setattr__(self, "line", self.line + start if self.line else 0)


Block = Prose | Marker | Table
Blocks = tuple[Block, ...]


def merge_prose(blocks: Sequence[Block]) -> Blocks:
    """Return `blocks` with neighbouring prose joined and empty prose left out."""
    out: list[Block] = []
    run: list[Prose] = []
    for block in blocks:
        if isinstance(block, Prose):
            run.append(block)
            continue
        _flush(run, out)
        out.append(block)
    _flush(run, out)
    return tuple(out)


def _flush(run: list[Prose], out: list[Block]) -> None:
    paragraphs = [prose for prose in run if prose.text]
    if len(paragraphs) > 1:
        out.append(Prose("\n\n".join(prose.text for prose in paragraphs), paragraphs[0].line))
    else:
        out += paragraphs
    run.clear()


class MetadataForm(StrEnum):
    """Form of a metadata entry."""

    LINE = "line"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Metadata:
    """`**Key**: Value`, or a row of the table below the title."""

    key: str
    value: str = ""
    form: MetadataForm = MetadataForm.LINE

    def __post_init__(self) -> None:
        key = plain(self.key)
        if not key:
            raise InvalidInput("metadata.key", self.key, "must not be blank")
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "value", one_line(self.value))

    def __str__(self) -> str:
        return str(MetadataLine(self.key, self.value))


@dataclass(frozen=True, slots=True)
class Turn:
    """The turn of one expert in one round."""

    agent: str
    emoji: str = EXPERT_EMOJI
    #: Rest of the heading: `→ HHMMZ (switched)`.
    extra: str = ""
    blocks: Blocks = ()
    line: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        name, more = split_name(self.agent)
        heading = AgentHeading(name, self.emoji, one_line(" ".join(filter(None, (more, self.extra)))))
        if not may_be_emoji_of_turn(self.emoji):
            raise InvalidInput(
                "turn.emoji",
                self.emoji,
                "must be one emoji that has no other meaning in the document, such as 🧁",
            )
        if not name or is_judge(name) or not is_canonical(heading):
            raise InvalidInput("turn.agent", self.agent, "must be an expert's name")
        object.__setattr__(self, "agent", name)
        object.__setattr__(self, "extra", heading.extra)
        object.__setattr__(self, "blocks", merge_prose(self.blocks))

    @property
    def heading(self) -> AgentHeading:
        """The turn's heading."""
        return AgentHeading(self.agent, self.emoji, self.extra)

    @property
    def body(self) -> str:
        """The prose of the turn, without its markers and tables."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, Prose))

    @property
    def markers(self) -> tuple[Marker, ...]:
        """The turn's markers, in order."""
        return tuple(block for block in self.blocks if isinstance(block, Marker))


@dataclass(frozen=True, slots=True)
class Round:
    """`## Round N: Label`, the blocks before the first turn, and the turns."""

    number: int
    label: str = ""
    blocks: Blocks = ()
    turns: tuple[Turn, ...] = ()
    line: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.number <= _LARGEST_ROUND:
            raise InvalidInput("round.number", self.number, f"must be from 0 to {_LARGEST_ROUND:,}")
        object.__setattr__(self, "label", one_line(self.label))
        object.__setattr__(self, "blocks", merge_prose(self.blocks))

    @property
    def agents(self) -> tuple[str, ...]:
        """The speakers, each once, in the order of their first turn."""
        return tuple(dict.fromkeys(turn.agent for turn in self.turns))


@dataclass(frozen=True, slots=True)
class Judge:
    """`## 💙 Judge: Label`: a section of the judge, usually after a round."""

    label: str = ""
    blocks: Blocks = ()
    line: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", one_line(self.label))
        object.__setattr__(self, "blocks", merge_prose(self.blocks))


@dataclass(frozen=True, slots=True)
class Section:
    """Any other part under a heading: panel, scoreboard, inventory, tracker, or free text."""

    title: str
    blocks: Blocks = ()
    line: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        heading = Heading(SECTION, one_line(self.title))
        begun = read_round(heading)
        if (begun and begun.sure) or read_judge(heading):
            raise InvalidInput(
                "section.title", self.title, "must not look like the heading of a round or of the judge"
            )
        object.__setattr__(self, "title", heading.text)
        object.__setattr__(self, "blocks", merge_prose(self.blocks))


Part = Round | Judge | Section


#: The header of a table of metadata, when it has one.
_KEYS = frozenset({"", "field", "key", "property", "item", "attribute"})


def names_of(metadata: Iterable[Metadata], preamble: Blocks, parts: Iterable[Part]) -> ExpertNames:
    """Return the experts: of the panel, or else of the metadata, or else those who took a turn."""
    parts = [*parts]
    experts = [expert for table in _tables(preamble) for expert in experts_of(table, titled=False)]
    panels = (part for part in parts if isinstance(part, Section) and is_panel(part.title))
    introduced = (
        [expert for table in _tables(panel.blocks) for expert in experts_of(table, titled=True)]
        for panel in panels
    )
    experts += next(filter(None, introduced), [])
    if not experts:
        experts += [
            expert
            for entry in metadata
            if {*entry.key.casefold().split()} & PANEL_WORDS and not entry.value.isdecimal()
            for expert in experts_in(entry.value)
        ]
    turns = (turn for part in parts if isinstance(part, Round) for turn in part.turns)
    # A panel may contain no names: a row may hold an emoji alone.
    return collect_experts(experts) or collect_experts(
        (Expert(turn.agent, turn.emoji) for turn in turns), heard=True
    )


def _tables(blocks: Blocks) -> Iterator[Table]:
    return (block for block in blocks if isinstance(block, Table))


def metadata_of(table: Table) -> list[Metadata] | None:
    """Return the entries of a table of metadata, or None for any other table."""
    pairs = all(len(row) == 2 for row in (table.header, *table.rows))
    if (
        not pairs
        or plain(table.header[0]).casefold() not in _KEYS
        or not all(plain(key) for key, _ in table.rows)
    ):
        return None
    return [Metadata(key, value, MetadataForm.TABLE) for key, value in table.rows]


def _turn(turn: Turn, names: ExpertNames) -> Turn:
    """Return the turn under its name in the panel."""
    expert = names.get(turn.agent)
    if not is_expert_emoji(turn.emoji) and (expert is None or names.heard):
        turn = replace(turn, emoji=EXPERT_EMOJI)  # an ornament is a turn's only beside a name of the panel
    if expert:
        return turn if expert.name == turn.agent else replace(turn, agent=expert.name)
    heading = _heading_as_read(turn, names)
    if names and heading is None:
        # The heading of an unknown name is a turn only beside an emoji that the name or the panel makes a person's.
        turn = replace(turn, emoji=EXPERT_EMOJI)
        heading = _heading_as_read(turn, names)
    return replace(turn, agent=heading.name, emoji=heading.emoji, extra=heading.extra) if heading else turn


def _heading_as_read(turn: Turn, names: ExpertNames) -> AgentHeading | None:
    heading = read_heading(str(turn.heading)) if names else None
    return read_agent(heading, names) if heading else None


@dataclass(frozen=True, slots=True)
class AlignmentDialogue:
    """A whole document, its parts in their order; `rounds` and the rest are views of them.

    Raises:
        InvalidInput: A section's title would read as an expert's turn.
    """

    title: str = ""
    metadata: tuple[Metadata, ...] = ()
    preamble: Blocks = ()
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        entries: list[Metadata] = [*self.metadata]
        rest: list[Block] = []
        for block in merge_prose(self.preamble):
            table_entries = metadata_of(block) if isinstance(block, Table) else None
            if table_entries is None:
                rest.append(block)
            else:
                entries += table_entries
        object.__setattr__(self, "title", one_line(self.title))
        object.__setattr__(self, "metadata", tuple(entries))
        object.__setattr__(self, "preamble", merge_prose(rest))
        object.__setattr__(self, "parts", tuple(self._normalised(self.names)))

    def _normalised(self, names: ExpertNames) -> Iterator[Part]:
        in_rounds = False
        for part in self.parts:
            in_rounds = in_rounds or isinstance(part, Round)
            if isinstance(part, Round) and part.turns:
                yield replace(part, turns=tuple(_turn(turn, names) for turn in part.turns))
                continue
            if in_rounds and isinstance(part, Section) and read_agent(Heading(SECTION, part.title), names):
                raise InvalidInput("section.title", part.title, "must not look like the heading of a turn")
            yield part

    @property
    def names(self) -> ExpertNames:
        """The experts by name."""
        return names_of(self.metadata, self.preamble, self.parts)

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds, in the order of the document."""
        return tuple(part for part in self.parts if isinstance(part, Round))

    @property
    def judge(self) -> tuple[Judge, ...]:
        """The judge's sections."""
        return tuple(part for part in self.parts if isinstance(part, Judge))

    @property
    def sections(self) -> tuple[Section, ...]:
        """The other sections."""
        return tuple(part for part in self.parts if isinstance(part, Section))

    @property
    def markers(self) -> tuple[Marker, ...]:
        """Every marker, in the order of the document."""
        return tuple(block for block in self.blocks() if isinstance(block, Marker))

    def blocks(self) -> Iterator[Block]:
        """Yield every block, in the order of the document."""
        yield from self.preamble
        for part in self.parts:
            yield from part.blocks
            for turn in part.turns if isinstance(part, Round) else ():
                yield from turn.blocks
