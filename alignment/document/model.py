"""The document model: an alignment document as `parse` reads it and `render` writes it.

Its fields are normalised when it is built. That needs the whole document: which names are experts, and
which tables are metadata.

Source: RFC 0028, "Interface: DialogueFormat" (the dialogue state model).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TypedDict

from ...models.alignment.vocabulary import DIMENSIONS, EXPERT_EMOJI, PANEL_WORDS, ROUND_REPORT_WORDS
from ...models.errors import InvalidInput
from .headings.headings import SECTION, AgentHeading, Heading, read_heading
from .headings.names import (
    Expert,
    ExpertNames,
    collect_experts,
    expert_of_item,
    experts_in,
    experts_of,
    is_panel,
)
from .headings.round_mentions import mentioned_round
from .headings.turn_headings import is_expert_emoji, read_agent, speaker_of
from .markers.markers import Marker
from .parts import (
    Block,
    Blocks,
    Judge,
    Metadata,
    MetadataForm,
    Part,
    Prose,
    Round,
    Section,
    Turn,
    merge_prose,
)
from .scan import LineReader
from .tables import Table
from .text.line_text import one_line, plain

#: Column headings that make a table of people a panel, at any place.
_PANEL_COLUMNS = frozenset({"role", "tier", "relevance", "emoji", "domain", "expertise"})
#: Sections that are tried as the first round.
_MOST_TRIES = 5
#: The header of a table of metadata, when it has one.
_KEYS = frozenset({"", "field", "key", "property", "item", "attribute"})


class NormalisedParts(TypedDict):
    """The fields of a document that change."""

    metadata: tuple[Metadata, ...]
    preamble: Blocks
    parts: tuple[Part, ...]


def normalise_parts(
    metadata: tuple[Metadata, ...], preamble: Blocks, parts: Sequence[Part]
) -> NormalisedParts:
    """Return the document's fields as parsing its text would give them.

    Raises:
        InvalidInput: A section's title would read as an expert's turn.
    """
    entries, first_blocks = _with_tables(metadata, merge_prose(preamble))
    names = names_of(entries, first_blocks, parts)
    changed: list[Part] = []
    numbers = {part.number for part in parts if isinstance(part, Round)}

    def may_be_first(at: int) -> bool:
        """Return whether the parts before `at` name all experts, and no later section is a turn."""
        if names_of(metadata, preamble, parts[:at]) != names:
            return False
        return not any(_is_a_turn(part, names) for part in parts[at:])

    in_rounds, tries = False, 0
    for at, part in enumerate(parts):
        in_rounds = in_rounds or isinstance(part, Round)
        if isinstance(part, Section):
            if in_rounds and _is_a_turn(part, names):
                raise InvalidInput("section.title", part.title, "must not look like the heading of a turn")
            begun = _quoted_round(part, names, numbers)
            tries += begun is not None
            if begun and (in_rounds or (tries <= _MOST_TRIES and may_be_first(at))):
                part, in_rounds = begun, True  # noqa: PLW2901
                numbers.add(begun.number)
        changed.append(_round(part, names) if isinstance(part, Round) else part)
    return NormalisedParts(metadata=entries, preamble=first_blocks, parts=tuple(changed))


def names_of(metadata: Iterable[Metadata], preamble: Blocks, parts: Sequence[Part]) -> ExpertNames:
    """Return the experts, from the text before the first round, or else those who took a turn."""
    found: list[Expert] = []
    for block in preamble:
        found += _panel_table(block, titled=False)
    for part in takewhile(lambda part: not isinstance(part, Round), parts):
        titled = isinstance(part, Section) and is_panel(part.title)
        for block in () if isinstance(part, Judge) else part.blocks:
            found += _panel_table(block, titled=titled)
            if titled and isinstance(block, Prose):
                found += filter(None, map(expert_of_item, block.text.split("\n")))
    if not found:
        found += [
            expert
            for entry in metadata
            if {*entry.key.casefold().split()} & PANEL_WORDS and not entry.value.isdecimal()
            for expert in experts_in(entry.value)
        ]
    turns = (turn for part in parts if isinstance(part, Round) for turn in part.turns)
    # A panel may contain no names: a row may hold an emoji alone.
    return collect_experts(found) or collect_experts(
        (Expert(turn.agent, turn.emoji) for turn in turns), heard=True
    )


def _panel_table(block: Block, *, titled: bool) -> list[Expert]:
    if not isinstance(block, Table):
        return []
    columns = {plain(cell).casefold() for cell in block.header}
    scored = {name.casefold() for name in DIMENSIONS} <= columns
    return experts_of(block) if (titled or columns & _PANEL_COLUMNS) and not scored else []


def _with_tables(metadata: tuple[Metadata, ...], preamble: Blocks) -> tuple[tuple[Metadata, ...], Blocks]:
    """Return the metadata with that of the preamble's tables, and the rest of the preamble."""
    rest: list[Block] = []
    found = [*metadata]
    for block in preamble:
        entries = metadata_of(block) if isinstance(block, Table) else None
        if entries is None:
            rest.append(block)
        else:
            found += entries
    return tuple(found), merge_prose(rest)


def metadata_of(table: Table) -> list[Metadata] | None:
    """Return the entries of a table of metadata, or None for any other table."""
    pairs = all(len(row) == 2 for row in (table.header, *table.rows))
    if (
        not pairs
        or plain(table.header[0]).casefold() not in _KEYS
        or not all(plain(r[0]) for r in table.rows)
    ):
        return None
    return [Metadata(key, value, MetadataForm.TABLE) for key, value in table.rows]


def _round(part: Round, names: ExpertNames) -> Round:
    """Return the round with its turns under the names of the panel."""
    if part.turns:
        return replace(part, turns=tuple(_turn(turn, names) for turn in part.turns))
    lead, turns = _quoted_turns(part, names)
    return replace(part, blocks=lead, turns=turns) if turns else part


def _is_a_turn(part: Part, names: ExpertNames) -> bool:
    return isinstance(part, Section) and read_agent(Heading(SECTION, part.title), names) is not None


def _quoted_round(part: Section, names: ExpertNames, numbers: set[int]) -> Round | None:
    """Return the round of a section that mentions a new round's number and quotes experts by name, or None."""
    begun = mentioned_round(Heading(SECTION, part.title)) if names else None
    if begun is None or begun.number in numbers:
        return None
    if not ROUND_REPORT_WORDS.isdisjoint(begun.label.casefold().split()):
        return None
    blocks = tuple(
        replace(block, round=begun.number) if isinstance(block, Marker) else block for block in part.blocks
    )
    found = Round(begun.number, begun.label, blocks, line=part.line)
    return found if _quoted_turns(found, names)[1] else None


def _turn(turn: Turn, names: ExpertNames) -> Turn:
    known = names.get(turn.agent)
    if not is_expert_emoji(turn.emoji) and (known is None or names.heard):
        turn = replace(turn, emoji=EXPERT_EMOJI)  # an ornament is a turn's only beside a name of the panel
    if known:
        return turn if known.name == turn.agent else replace(turn, agent=known.name)
    found = _heading_as_read(turn, names)
    if names and found is None:
        # The heading of an unknown name is a turn only beside an emoji that the name or the panel makes a person's.
        turn = replace(turn, emoji=EXPERT_EMOJI)
        found = _heading_as_read(turn, names)
    return replace(turn, agent=found.name, emoji=found.emoji, extra=found.extra) if found else turn


def _heading_as_read(turn: Turn, names: ExpertNames) -> AgentHeading | None:
    heading = read_heading(str(turn.heading)) if names else None
    return read_agent(heading, names) if heading else None


def _quoted_turns(part: Round, names: ExpertNames) -> tuple[Blocks, tuple[Turn, ...]]:
    """Return the turns of a round that quotes experts by name, as in `**Ada (API)**: Clean interfaces`."""
    if not names:
        return part.blocks, ()
    speakers: list[tuple[Expert | None, str, int, list[Block]]] = [(None, "", 0, [])]
    for block in part.blocks:
        for piece in _pieces(block, names) if isinstance(block, Prose) else [block]:
            if isinstance(piece, tuple):
                speakers.append((*piece[:3], [Prose(piece[3])]))
            else:
                agent = speakers[-1][0]
                of_agent = replace(piece, agent=agent.name) if agent and isinstance(piece, Marker) else piece
                speakers[-1][3].append(of_agent)
    turns = [
        Turn(who.name, who.emoji or EXPERT_EMOJI, extra, tuple(said), line)
        for who, extra, line, said in speakers
        if who
    ]
    return merge_prose(speakers[0][3]), tuple(turns)


def _pieces(prose: Prose, names: ExpertNames) -> list[Block | tuple[Expert, str, int, str]]:
    """Return the prose, cut before every line that begins with who speaks."""
    pieces: list[Block | tuple[Expert, str, int, str]] = []
    said: list[str] = []
    who: tuple[Expert, str, int] | None = None
    texts = prose.text.split("\n")
    hidden = [line.hidden for line in LineReader(prose.text + "\n").lines()]
    for number, (line, is_code) in enumerate(zip(texts, hidden, strict=True), start=prose.line):
        if not is_code and (spoken := speaker_of(line, names)):
            pieces.append((*who, "\n".join(said)) if who else Prose("\n".join(said)))
            who, said = (spoken.expert, spoken.extra, number if prose.line else 0), [spoken.said]
        else:
            said.append(line)
    pieces.append((*who, "\n".join(said)) if who else Prose("\n".join(said)))
    return pieces


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
