"""What the tables of a document say: who takes part, what was scored, which perspectives and tensions there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .document import AlignmentDialogue, Block, Blocks, Judge, Prose, Round
from .lines import read_metadata
from .names import Expert, person
from .refs import read_refs
from .tables import Table
from .text import plain
from .tidying import names_of
from .words import DIMENSIONS, PEOPLE, STATUS_WORDS, SUMS, TOTALS, MarkerType, TensionState

Number = int | float


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One row of a scoreboard: the four scores and their total, None where a cell holds no number."""

    name: str
    scores: tuple[Number | None, ...]
    total: Number | None
    line: int

    @property
    def sum(self) -> Number | None:
        """The sum of the four scores, or None when one is missing."""
        known = [score for score in self.scores if score is not None]
        return _rounded(sum(known)) if len(known) == len(DIMENSIONS) else None

    @property
    def sums_up(self) -> bool:
        """True for a row about the others: `Total`, `Average`."""
        return self.name.partition(" ")[0].casefold() in SUMS


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """A table of scores. `total` is what the line below it says, and stands in line `total_line`."""

    table: Table
    rows: tuple[ScoreRow, ...]
    total_column: int | None
    total: Number | None = None
    total_line: int = 0
    #: True when the rows are people, so that their totals may be added up.
    of_people: bool = True
    round: int | None = None

    @property
    def people(self) -> tuple[ScoreRow, ...]:
        """The rows without those that sum up the others."""
        return tuple(row for row in self.rows if not row.sums_up)

    @property
    def sum(self) -> Number:
        """The sum of the rows' totals."""
        return _rounded(sum(row.total for row in self.people if row.total is not None))


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the perspectives inventory or of the tensions tracker, cells by the header's names in lower case."""

    id: str
    text: str
    agent: str
    round: str
    status: str
    line: int

    @property
    def state(self) -> TensionState | None:
        """What the status cell says of a tension; None where it says nothing that is known."""
        return read_state(self.status)


@dataclass(frozen=True, slots=True)
class Tension:
    """A tension with its state, by the tracker where there is one and by the markers otherwise."""

    id: str
    label: str
    state: TensionState
    agent: str | None = None
    round: int | None = None


def panel(document: AlignmentDialogue) -> tuple[Expert, ...]:
    """The experts, without the judge."""
    return tuple(names_of(document.metadata, document.preamble, document.parts).experts.values())


def scoreboards(document: AlignmentDialogue) -> tuple[Scoreboard, ...]:
    """Every scoreboard, in order, with the number of the round it stands in or after."""
    found, number = [], None
    for part in document.parts:
        if not isinstance(part, Judge):
            number = part.number if isinstance(part, Round) else None
        runs = (
            [part.blocks, *(turn.blocks for turn in part.turns)] if isinstance(part, Round) else [part.blocks]
        )
        found += [board for blocks in runs for board in _scoreboards(blocks, number)]
    return tuple(found)


def _scoreboards(blocks: Blocks, number: int | None) -> Iterator[Scoreboard]:
    for i, block in enumerate(blocks):
        columns = _columns(block)
        dimensions = [columns.get(name.casefold(), columns.get(name[0].casefold())) for name in DIMENSIONS]
        if not isinstance(block, Table) or None in dimensions:
            continue
        total = next((at for name, at in columns.items() if name in TOTALS), None)
        rows = tuple(
            ScoreRow(person(row[0])[0], tuple(_cell(row, at) for at in dimensions), _cell(row, total), line)
            for row, line in _lined(block)
        )
        said, said_at = _total_below(blocks[i + 1]) if i + 1 < len(blocks) else (None, 0)
        yield Scoreboard(
            block,
            rows,
            total_column=total,
            total=said,
            total_line=said_at,
            of_people=plain(block.header[0]).casefold() in PEOPLE,
            round=number,
        )


def _total_below(block: Block) -> tuple[Number | None, int]:
    """The number of `**Total ALIGNMENT**: 345 / 480`, and its line."""
    if not isinstance(block, Prose):
        return None, 0
    for line, text in enumerate(block.text.split("\n"), start=block.line):
        entry = read_metadata(text)
        words = entry.key.casefold().split() if entry else []
        if entry and "alignment" in words and "velocity" not in words:
            return _number(entry.value), line
    return None, 0


def perspectives(document: AlignmentDialogue) -> tuple[Entry, ...]:
    """The rows of the perspectives inventory."""
    return tuple(_entries(document, "perspective", {"perspective"}))


def tracked(document: AlignmentDialogue) -> tuple[Entry, ...]:
    """The rows of the tensions tracker."""
    return tuple(_entries(document, "tension", {"tension", "status"}))


def _entries(document: AlignmentDialogue, text: str, needed: set[str]) -> Iterator[Entry]:
    for part in document.parts:
        for block in part.blocks if not isinstance(part, Round) else ():
            columns = _columns(block)
            if not isinstance(block, Table) or not needed | {"id"} <= columns.keys():
                continue
            for row, line in _lined(block):
                cells = {name: row[at] if at < len(row) else "" for name, at in columns.items()}
                agent = next(
                    (
                        cells[name]
                        for name in ("agent", "raised by", "raised", "surfaced by")
                        if name in cells
                    ),
                    "",
                )
                found = read_id(cells["id"])
                if found:
                    status = cells.get("status", "")
                    yield Entry(found, cells[text], agent, cells.get("round", ""), status, line)


def read_id(cell: str) -> str | None:
    """The normalised id of a cell, or None for a dash or anything else."""
    refs = read_refs(plain(cell), strict=True).found
    return refs[0].id if refs else None


def read_state(status: str) -> TensionState | None:
    """The state that a status cell says: `**Resolved**`, `✓ RESOLVED (R1)`, `Open`."""
    text = plain(status).casefold()
    found = [(text.find(word), state) for word, state in STATUS_WORDS if word in text]
    return min(found, key=lambda pair: pair[0])[1] if found else None


def tensions(document: AlignmentDialogue) -> tuple[Tension, ...]:
    """Every tension: those of the tracker, then those that only markers name, each with its state."""
    markers = document.markers
    states: dict[str, TensionState] = {}
    for said in markers:
        for ref in said.refs:
            if said.type is MarkerType.RESOLVED:
                states[ref.id] = TensionState.RESOLVED
            elif said.type is MarkerType.TENSION and states.get(ref.id) is TensionState.RESOLVED:
                states[ref.id] = TensionState.REOPENED
    raised = {
        ref.id: marker
        for marker in reversed(markers)
        if marker.type is MarkerType.TENSION
        for ref in marker.refs
    }
    rows = {row.id: row for row in tracked(document)}
    found = []
    for name in dict.fromkeys((*rows, *reversed(raised))):
        row, marker = rows.get(name), raised.get(name)
        state = (row.state if row else None) or states.get(name, TensionState.OPEN)
        label = plain(row.text) if row else marker.label if marker else ""
        agent, number = (marker.agent, marker.round) if marker else (None, None)
        found.append(Tension(name, label, state, agent, number))
    return tuple(found)


def _columns(block: Block) -> dict[str, int]:
    """The header's names in lower case, each with its column; empty for what is no table."""
    if not isinstance(block, Table):
        return {}
    return {plain(cell).casefold(): at for at, cell in reversed([*enumerate(block.header)])}


def _lined(table: Table) -> Iterator[tuple[tuple[str, ...], int]]:
    yield from zip(table.rows, table.lines or (0,) * len(table.rows), strict=True)


def _cell(row: tuple[str, ...], column: int | None) -> Number | None:
    return _number(row[column]) if column is not None and column < len(row) else None


def _number(cell: str) -> Number | None:
    """The number that a cell begins with: `**12**`, `345/480`, `11 ✅`; a range or a date is none."""
    text = plain(cell)
    end = next((i for i, c in enumerate(text) if c not in "-.0123456789"), len(text))
    text, behind = text[:end].strip(), text[end : end + 1]
    if behind.isalnum() or behind in (",", ":", "–", "—"):
        return None
    whole, point, fraction = text.removeprefix("-").partition(".")
    digits = whole + fraction
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 15 or not whole:
        return None
    return float(text) if point else int(text)


def _rounded(number: Number) -> Number:
    return round(number, 6) if isinstance(number, float) else number
