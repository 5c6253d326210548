"""Views of a document: participants, perspectives, tensions and scores of its tables; a JSON summary.

Source: RFC 0028, "Scoreboard bold totals".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...models.alignment.marker_refs import read_refs
from ...models.alignment.vocabulary import (
    BONUS_WORDS,
    DIMENSIONS,
    PENALTY_WORDS,
    PERSON_COLUMNS,
    STATUS_WORDS,
    SUM_WORDS,
    TOTALS,
    MarkerType,
    TensionState,
)
from .experts import Expert, split_name
from .lines import read_metadata
from .markers import Marker
from .model import AlignmentDialogue, Block, Blocks, Judge, Prose, Round
from .tables import Table, columns_of, numbered_rows
from .text import plain

ScoreNumber = int | float


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One row of a scoreboard: the four scores and their total, None where a cell holds no number."""

    name: str
    scores: tuple[ScoreNumber | None, ...]
    total: ScoreNumber | None
    line: int
    #: Sum of the bonus and penalty columns left of the total.
    bonus: ScoreNumber = 0
    #: Numbers of further columns: they may be scores, or something else.
    others: tuple[ScoreNumber, ...] = ()

    @property
    def sum(self) -> ScoreNumber | None:
        """The sum of the four scores and the bonus, or None when a score is missing."""
        numbers = [score for score in self.scores if score is not None]
        return _rounded(sum(numbers) + self.bonus) if len(numbers) == len(DIMENSIONS) else None

    @property
    def adds_up(self) -> bool:
        """True if the total is the sum, with or without the numbers of further columns."""
        if self.total is None or self.sum is None:
            return True
        return self.total in (self.sum, _rounded(self.sum + sum(self.others)))

    @property
    def sums_up(self) -> bool:
        """True for a row about the others: `Total`, `Average`."""
        return self.name.partition(" ")[0].casefold() in SUM_WORDS


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """A table of scores. `total` is the value of the line below it, whose number is `total_line`."""

    table: Table
    rows: tuple[ScoreRow, ...]
    total_column: int | None
    total: ScoreNumber | None = None
    total_line: int = 0
    #: True when the rows are people, so that their totals may be added up.
    of_people: bool = True
    round: int | None = None

    @property
    def people(self) -> tuple[ScoreRow, ...]:
        """The rows without those that sum up the others."""
        return tuple(row for row in self.rows if not row.sums_up)

    @property
    def sum(self) -> ScoreNumber:
        """The sum of the rows' totals."""
        return _rounded(sum(row.total for row in self.people if row.total is not None))


def scoreboards(document: AlignmentDialogue) -> tuple[Scoreboard, ...]:
    """Return every scoreboard, in order, with the number of the round that contains or precedes it."""
    boards, number = [], None
    for part in document.parts:
        if not isinstance(part, Judge):
            number = part.number if isinstance(part, Round) else None
        runs = (
            [part.blocks, *(turn.blocks for turn in part.turns)] if isinstance(part, Round) else [part.blocks]
        )
        boards += [board for blocks in runs for board in _scoreboards(blocks, number)]
    return tuple(boards)


def _scoreboards(blocks: Blocks, number: int | None) -> Iterator[Scoreboard]:
    for i, block in enumerate(blocks):
        columns = columns_of(block)
        dimensions = [columns.get(name.casefold(), columns.get(name[0].casefold())) for name in DIMENSIONS]
        if not isinstance(block, Table) or None in dimensions:
            continue
        total = next((at for name, at in columns.items() if name in TOTALS), None)
        scored = [at for at in dimensions if at is not None]
        rows = tuple(
            _row(block.header, row, line, scored=scored, total=total) for row, line in numbered_rows(block)
        )
        stated_total, said_at = _total_below(blocks[i + 1]) if i + 1 < len(blocks) else (None, 0)
        yield Scoreboard(
            block,
            rows,
            total_column=total,
            total=stated_total,
            total_line=said_at,
            of_people=plain(block.header[0]).casefold() in PERSON_COLUMNS,
            round=number,
        )


def _row(
    header: tuple[str, ...], cells: tuple[str, ...], line: int, *, scored: list[int], total: int | None
) -> ScoreRow:
    """Return a row with the cells of the four dimensions, of the total, and of columns that a total may include."""
    bonus: ScoreNumber = 0
    others: list[ScoreNumber] = []
    for at, title in enumerate(header[1:], start=1):
        number = None if at in scored or at == total else _cell(cells, at)
        words = {*plain(title).casefold().split()}
        if number is None or not words.isdisjoint(TOTALS):
            continue
        if words.isdisjoint(BONUS_WORDS | PENALTY_WORDS):
            others.append(number)
        elif total is None or at < total:
            bonus += number if words.isdisjoint(PENALTY_WORDS) else -abs(number)
    scores = tuple(_cell(cells, at) for at in scored)
    return ScoreRow(split_name(cells[0])[0], scores, _cell(cells, total), line, bonus, tuple(others))


def _total_below(block: Block) -> tuple[ScoreNumber | None, int]:
    """Return the number of `**Total ALIGNMENT**: 345 / 480`, and its line."""
    if not isinstance(block, Prose):
        return None, 0
    for line, text in enumerate(block.text.split("\n"), start=block.line):
        entry = read_metadata(text)
        words = entry.key.casefold().split() if entry else []
        if entry and "alignment" in words and "velocity" not in words:
            return _number(entry.value), line
    return None, 0


def _cell(row: tuple[str, ...], column: int | None) -> ScoreNumber | None:
    return _number(row[column]) if column is not None and column < len(row) else None


def _number(cell: str) -> ScoreNumber | None:
    """Return the number that a cell begins with: `**12**`, `345/480`, `11 ✅`; None for a range or a date."""
    text = plain(cell).removeprefix("+").replace("−", "-")
    end = next((i for i, c in enumerate(text) if c not in "-.0123456789"), len(text))
    text, following = text[:end].strip(), text[end : end + 1]
    if following.isalnum() or following in (",", ":", "–", "—"):
        return None
    whole, point, fraction = text.removeprefix("-").partition(".")
    digits = whole + fraction
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 15 or not whole:
        return None
    return float(text) if point else int(text)


def _rounded(number: ScoreNumber) -> ScoreNumber:
    return round(number, 6) if isinstance(number, float) else number


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
        """State of a tension in the status cell; None for an unknown word."""
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
    """Return the experts, without the judge."""
    return tuple(document.names.experts.values())


def perspectives(document: AlignmentDialogue) -> tuple[Entry, ...]:
    """Return the rows of the perspectives inventory."""
    return tuple(_entries(document, "perspective", {"perspective"}))


def tracked_tensions(document: AlignmentDialogue) -> tuple[Entry, ...]:
    """Return the rows of the tensions tracker."""
    return tuple(_entries(document, "tension", {"tension", "status"}))


def _entries(document: AlignmentDialogue, text: str, needed: set[str]) -> Iterator[Entry]:
    for part in document.parts:
        for block in part.blocks if not isinstance(part, Round) else ():
            columns = columns_of(block)
            if not isinstance(block, Table) or not needed | {"id"} <= columns.keys():
                continue
            for row, line in numbered_rows(block):
                cells = {name: row[at] if at < len(row) else "" for name, at in columns.items()}
                agent = next(
                    (
                        cells[name]
                        for name in ("agent", "raised by", "raised", "surfaced by")
                        if name in cells
                    ),
                    "",
                )
                entry_id = read_id(cells["id"])
                if entry_id:
                    status = cells.get("status", "")
                    yield Entry(entry_id, cells[text], agent, cells.get("round", ""), status, line)


def read_id(cell: str) -> str | None:
    """Return the normalised id of a cell, or None for a dash or anything else."""
    refs = read_refs(plain(cell), strict=True).found
    return refs[0].id if refs else None


def read_state(status: str) -> TensionState | None:
    """Return the state that a status cell says: `**Resolved**`, `✓ RESOLVED (R1)`, `Open`."""
    text = plain(status).casefold()
    mentioned_states = [(text.find(word), state) for word, state in STATUS_WORDS if word in text]
    return min(mentioned_states, key=lambda pair: pair[0])[1] if mentioned_states else None


def tensions(document: AlignmentDialogue) -> tuple[Tension, ...]:
    """Return every tension: those of the tracker, then those that only markers name, each with its state."""
    markers = document.markers
    states: dict[str, TensionState] = {}
    for spoken_marker in markers:
        for ref in spoken_marker.refs:
            if spoken_marker.type is MarkerType.RESOLVED:
                states[ref.id] = TensionState.RESOLVED
            elif spoken_marker.type is MarkerType.TENSION and states.get(ref.id) is TensionState.RESOLVED:
                states[ref.id] = TensionState.REOPENED
    raised = {
        ref.id: marker
        for marker in reversed(markers)
        if marker.type is MarkerType.TENSION
        for ref in marker.refs
    }
    rows = {row.id: row for row in tracked_tensions(document)}
    result = []
    for name in dict.fromkeys((*rows, *reversed(raised))):
        row, marker = rows.get(name), raised.get(name)
        state = (row.state if row else None) or states.get(name, TensionState.OPEN)
        label = plain(row.text) if row else marker.label if marker else ""
        agent, number = (marker.agent, marker.round) if marker else (None, None)
        result.append(Tension(name, label, state, agent, number))
    return tuple(result)


def summary(document: AlignmentDialogue) -> dict[str, Any]:
    """Return title, metadata, panel, rounds, markers, scoreboards, perspectives, tensions and sections."""
    return {
        "title": document.title,
        "metadata": [
            {"key": entry.key, "value": entry.value, "form": entry.form.value} for entry in document.metadata
        ],
        "panel": [
            {"name": expert.name, "emoji": expert.emoji, "role": expert.role} for expert in panel(document)
        ],
        "rounds": [_round(part) for part in document.rounds],
        "markers": [_marker(marker) for marker in document.markers],
        "scoreboards": [_scoreboard(board) for board in scoreboards(document)],
        "perspectives": [
            {
                "id": perspective.id,
                "perspective": perspective.text,
                "agent": perspective.agent,
                "round": perspective.round,
                "line": perspective.line,
            }
            for perspective in perspectives(document)
        ],
        "tensions": [
            {
                "id": tension.id,
                "label": tension.label,
                "state": tension.state.value,
                "agent": tension.agent,
                "round": tension.round,
            }
            for tension in tensions(document)
        ],
        "judge": [{"label": judge.label, "line": judge.line} for judge in document.judge],
        "sections": [{"title": section.title, "line": section.line} for section in document.sections],
    }


def _round(part: Round) -> dict[str, Any]:
    return {"number": part.number, "label": part.label, "line": part.line, "agents": list(part.agents)}


def _marker(marker: Marker) -> dict[str, Any]:
    return {
        "type": marker.type.value,
        "ids": list(marker.ids),
        "refs": [str(ref) for ref in marker.refs],
        "label": marker.label,
        "agent": marker.agent,
        "round": marker.round,
        "line": marker.line,
        "column": marker.column,
    }


def _scoreboard(board: Scoreboard) -> dict[str, Any]:
    names = [name.lower() for name in DIMENSIONS]
    rows = [
        {"name": row.name, **dict(zip(names, row.scores, strict=True)), "total": row.total, "line": row.line}
        for row in board.rows
    ]
    return {"line": board.table.line, "round": board.round, "rows": rows, "total": board.total}
