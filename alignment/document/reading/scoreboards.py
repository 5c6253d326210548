"""Scoreboards: the tables in which a judge scores experts.

Source: RFC 0028, "Scoreboard bold totals".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....models.alignment.vocabulary import (
    BONUS_WORDS,
    DIMENSIONS,
    PENALTY_WORDS,
    PERSON_COLUMNS,
    SUM_WORDS,
    TOTALS,
)
from ..headings.names import split_name
from ..lines import read_metadata
from ..model import AlignmentDialogue
from ..parts import Block, Blocks, Judge, Prose, Round
from ..tables import Table, columns_of, numbered_rows
from ..text.line_text import plain

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
        known = [score for score in self.scores if score is not None]
        return _rounded(sum(known) + self.bonus) if len(known) == len(DIMENSIONS) else None

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
        columns = columns_of(block)
        dimensions = [columns.get(name.casefold(), columns.get(name[0].casefold())) for name in DIMENSIONS]
        if not isinstance(block, Table) or None in dimensions:
            continue
        total = next((at for name, at in columns.items() if name in TOTALS), None)
        scored = [at for at in dimensions if at is not None]
        rows = tuple(
            _row(block.header, row, line, scored=scored, total=total) for row, line in numbered_rows(block)
        )
        said, said_at = _total_below(blocks[i + 1]) if i + 1 < len(blocks) else (None, 0)
        yield Scoreboard(
            block,
            rows,
            total_column=total,
            total=said,
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
