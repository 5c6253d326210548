"""`parse`: a document's text into the model, by one pass over its lines.

Source: RFC 0028, "Interface: DialogueFormat".
"""

from __future__ import annotations

from dataclasses import dataclass

from ..findings import FormNote, FormRule
from ..headings.headings import RoundHeading
from ..headings.names import ExpertNames
from ..headings.turn_headings import speaker_of
from ..markers.markers import Marker
from ..model import AlignmentDialogue, names_of
from ..scan import LineReader
from .blocks import BlockReader
from .builder import Builder

#: Further readings of a text in which experts speak under headings that only mention a round.
_MOST_READINGS = 3


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document, its spellings that are not canonical, and its participants.

    `unclear`: lines that begin no round although experts speak under them, each with the round it may mean.
    """

    document: AlignmentDialogue
    notes: tuple[FormNote, ...]
    names: ExpertNames
    unclear: dict[int, RoundHeading | None]


def parse(markdown: str) -> AlignmentDialogue:
    """Parse `markdown`. Any text is a document; `lint` reports its problems."""
    return read(markdown).document


def parse_markers(text: str, agent: str | None = None, round: int | None = None) -> tuple[Marker, ...]:  # noqa: A002
    """Return the markers of what one expert said, in order, each with this agent and round."""
    reader = BlockReader(ExpertNames(), agent=agent, number=round)
    reader.read_prose(LineReader(text))
    return tuple(block for block in reader.blocks if isinstance(block, Marker))


def read(markdown: str) -> ParsedDocument:
    """Return the document, with the data on its spelling that `lint` needs."""
    names, builder, reader = _built(markdown)
    if builder.bold_rounds and not builder.has_rounds:
        # The document has no round headings: bold lines are used instead.
        names, builder, reader = _built(markdown, bold=True)
    if reader.open_fence:
        builder.notes.add(FormRule.UNCLOSED_FENCE, reader.open_fence)
    for number in reader.open_comments:
        builder.notes.add(FormRule.UNCLOSED_COMMENT, number)
    document = builder.build()
    _note_speakers(document, builder, markdown)
    notes = sorted(builder.notes.found, key=lambda note: (note.line, note.column))
    return ParsedDocument(document, tuple(notes), names, builder.mentions.unclear())


def _note_speakers(document: AlignmentDialogue, builder: Builder, markdown: str) -> None:
    """Note the turns that no heading begins, and the rounds that begin only because of them."""
    headed = builder.round_lines
    for part in document.rounds:
        if part.line not in headed:
            builder.notes.add(FormRule.ROUND, part.line, hint=str(RoundHeading(part.number, part.label)))
    turns = [turn for part in document.rounds for turn in part.turns if turn.line not in builder.turn_lines]
    lines = markdown.replace("\r\n", "\n").replace("\r", "\n").split("\n") if turns else []
    names = names_of(document.metadata, document.preamble, document.parts)
    for turn in turns:
        spoken = speaker_of(lines[turn.line - 1], names) if 0 < turn.line <= len(lines) else None
        same = spoken is not None and spoken.expert.name == turn.agent
        hint = "\n\n".join(filter(None, (str(turn.heading), spoken.said))) if spoken and same else None
        builder.notes.add(FormRule.AGENT, turn.line, hint=hint)


def _built(markdown: str, *, bold: bool = False) -> tuple[ExpertNames, Builder, LineReader]:
    """Return all of the text taken, under the names of those who take part."""
    confirmed: frozenset[int] = frozenset()
    late: frozenset[int] = frozenset()
    built = _built_once(markdown, bold=bold, confirmed=confirmed)
    for _ in range(_MOST_READINGS):
        builder = built[1]
        more = builder.mentions.found() - late
        if more and _names(markdown, bold=bold, confirmed=confirmed | more) != _names(
            markdown, bold=bold, confirmed=confirmed
        ):
            # A panel after these headings says who takes part: they begin no round.
            first = min(builder.round_lines, default=0)
            late |= frozenset(line for line in more if not 0 < first < line)
            more -= late
        if not more:
            break
        confirmed |= more
        built = _built_once(markdown, bold=bold, confirmed=confirmed)
    return built


def _built_once(
    markdown: str, *, bold: bool, confirmed: frozenset[int]
) -> tuple[ExpertNames, Builder, LineReader]:
    """Return the text taken once; headings in the lines `confirmed` begin rounds."""
    names = _names(markdown, bold=bold, confirmed=confirmed)
    builder, reader = Builder(names, bold=bold, confirmed=confirmed), LineReader(markdown)
    builder.read(reader)
    if not names and (heard := builder.experts_heard()):
        # There is no introduction: speakers with an emoji are known without one, too.
        names, builder = heard, Builder(heard, bold=bold, confirmed=confirmed)
        reader = LineReader(markdown)
        builder.read(reader)
    return names, builder, reader


def _names(markdown: str, *, bold: bool, confirmed: frozenset[int]) -> ExpertNames:
    """Return the participants, from the text before the first round."""
    builder = Builder(ExpertNames(), bold=bold, confirmed=confirmed)
    builder.read(LineReader(markdown), until_round=True)
    document = builder.build()
    return names_of(document.metadata, document.preamble, document.parts)
