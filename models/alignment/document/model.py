"""The document model: an alignment document as `parse` reads it and `render` writes it.

Source: RFC 0028, "Interface: DialogueFormat" (the dialogue state model).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .markers.markers import Marker
from .parts import Block, Blocks, Judge, Metadata, Part, Round, Section
from .text.line_text import one_line
from .tidying import normalise_parts


@dataclass(frozen=True, slots=True)
class AlignmentDialogue:
    """A whole document, its parts in their order; `rounds` and the rest are views of them."""

    title: str = ""
    metadata: tuple[Metadata, ...] = ()
    preamble: Blocks = ()
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", one_line(self.title))
        for name, value in normalise_parts(self.metadata, self.preamble, self.parts).items():
            object.__setattr__(self, name, value)

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
