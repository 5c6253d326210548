"""Parts of a document while they are read: like those of the model, but still growing."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..headings.headings import AgentHeading, JudgeHeading, RoundHeading
from ..parts import Block, Judge, Part, Round, Section, Turn


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
