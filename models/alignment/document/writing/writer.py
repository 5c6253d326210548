"""`render`: a document in its canonical spelling; `parse` reads the same document back.

Source: RFC 0028, "Interface: DialogueFormat".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ..headings.headings import SECTION, TITLE, Heading, JudgeHeading, RoundHeading
from ..headings.names import ExpertNames
from ..model import AlignmentDialogue
from ..parts import Block, Judge, Metadata, MetadataForm, Part, Prose, Round
from ..reading.escapes import escape_prose
from ..tables import Table
from ..tidying import names_of


def render(document: AlignmentDialogue) -> str:
    """Return the document as Markdown, ending with a line break; empty for an empty document."""
    names = names_of(document.metadata, document.preamble, document.parts)
    pieces = [*_head(document, names)]
    for part in document.parts:
        pieces += _part(part, names)
    return "\n\n".join(pieces) + "\n" if pieces else ""


def _head(document: AlignmentDialogue, names: ExpertNames) -> Iterator[str]:
    if document.title:
        yield str(Heading(TITLE, document.title))
    for form, entries in groupby(document.metadata, key=lambda entry: entry.form):
        run = tuple(entries)
        yield _table(run) if form is MetadataForm.TABLE else "\n".join(map(str, run))
    yield from _blocks(document.preamble, names, preamble=True)


def _table(entries: Sequence[Metadata]) -> str:
    return str(Table(("", ""), tuple((f"**{entry.key}**", entry.value) for entry in entries)))


def _part(part: Part, names: ExpertNames) -> Iterator[str]:
    match part:
        case Round(number, label):
            yield str(RoundHeading(number, label))
        case Judge(label):
            yield str(JudgeHeading(label))
        case section:
            yield str(Heading(SECTION, section.title))
    yield from _blocks(part.blocks, names)
    for turn in part.turns if isinstance(part, Round) else ():
        yield str(turn.heading)
        yield from _blocks(turn.blocks, names)


def _blocks(blocks: Sequence[Block], names: ExpertNames, *, preamble: bool = False) -> Iterator[str]:
    for block in blocks:
        yield escape_prose(block.text, names, preamble=preamble) if isinstance(block, Prose) else str(block)
