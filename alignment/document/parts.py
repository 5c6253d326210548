"""The parts of an alignment document: metadata, rounds, turns, sections, and the blocks inside them.

Values are made tidy when they are built, so that two documents that are written the same are equal:
a one-line field has no line breaks, prose has no blank lines at its ends, and neighbouring
pieces of prose are one.

Source: RFC 0028, "Interface: DialogueFormat" (the dialogue state model).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ...models.alignment.vocabulary import EXPERT_EMOJI
from ...models.errors import InvalidInput
from .headings.headings import SECTION, AgentHeading, Heading, read_judge
from .headings.names import is_judge, split_name
from .headings.round_headings import round_of
from .headings.turn_headings import is_canonical, may_be_emoji_of_turn
from .lines import MetadataLine
from .markers.markers import Marker
from .tables import Table
from .text.line_text import one_line, plain

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
    said = [prose for prose in run if prose.text]
    if len(said) > 1:
        out.append(Prose("\n\n".join(prose.text for prose in said), said[0].line))
    else:
        out += said
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
        if round_of(heading, last=None) or read_judge(heading):
            raise InvalidInput(
                "section.title", self.title, "must not look like the heading of a round or of the judge"
            )
        object.__setattr__(self, "title", heading.text)
        object.__setattr__(self, "blocks", merge_prose(self.blocks))


Part = Round | Judge | Section
