r"""Tables: rows of cells between pipes. `\|` is a pipe inside a cell.

Source: RFC 0028, "Tolerance Policy": pipe-delimited, as many cells as the header.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .markers import escape_markers, unescape_markers
from .text import blank_escapes, escape, one_line, plain, unescape

_SPECIAL = "|"


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its header and its rows, each a sequence of one-line cells. Rows may be of any length."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = ()
    #: One-based line of the header; 0: made, not read.
    line: int = field(default=0, compare=False)
    #: Line of each row.
    lines: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "header", _tidy(self.header))
        object.__setattr__(self, "rows", tuple(map(_tidy, self.rows)))

    def __str__(self) -> str:
        return "\n".join((write_row(self.header), separator(len(self.header)), *map(write_row, self.rows)))


def _tidy(cells: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(one_line, cells)) or ("",)


def is_row(line: str) -> bool:
    """Return True for a line that belongs to a table."""
    return line.lstrip()[:1] == "|"


def read_row(line: str) -> tuple[str, ...]:
    """Return the cells of a row."""
    cells = raw_cells(line)
    return tuple(map(unescape_markers, cells)) if "\\" in line else cells


def raw_cells(line: str) -> tuple[str, ...]:
    """Return the cells of a row, with the backslashes before brackets that are to be no markers."""
    text = line.strip().removeprefix("|")
    cells, start = [], 0
    for cell in blank_escapes(text).split("|"):
        cells.append(text[start : start + len(cell)])
        start += len(cell) + 1
    if len(cells) > 1 and not cells[-1].strip():
        cells.pop()
    return tuple([unescape(one_line(cell), _SPECIAL) for cell in cells])


def is_separator(cells: Sequence[str]) -> bool:
    """Return True for the row of dashes below a header: `|---|:--:|`."""
    return all(cell and not cell.strip(":-—–") and "-" in cell.replace("—", "-") for cell in cells)


def write_row(cells: Sequence[str]) -> str:
    """Return the row in its canonical spelling."""
    return "|" + "".join(f" {escape(escape_markers(cell), _SPECIAL)} |" if cell else " |" for cell in cells)


def separator(columns: int) -> str:
    """Return the row of dashes for this many columns."""
    return "|" + "---|" * columns


def is_list_of_ids(table: Table) -> bool:
    """Return True for an inventory or a tracker: its rows refer to markers and define none."""
    return any(plain(cell).casefold() in ("id", "ids") for cell in table.header)


def columns_of(block: object) -> dict[str, int]:
    """Return the header's names in lower case, each with its column; empty for what is no table."""
    if not isinstance(block, Table):
        return {}
    return {plain(cell).casefold(): at for at, cell in reversed([*enumerate(block.header)])}


def numbered_rows(table: Table) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the rows of a table, each with its line."""
    yield from zip(table.rows, table.lines or (0,) * len(table.rows), strict=True)
