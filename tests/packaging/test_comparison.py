"""The comparison with other libraries has the figures that were measured."""

from __future__ import annotations

from pathlib import Path

#: Of the table of results.
COLUMNS = ("case", "conversations", "ours", "theirs", "ratio", "min", "max", "pairs")
DOCS = Path(__file__).parents[2] / "docs"


def rows(page: str) -> list[list[str]]:
    """The cells of all table rows about other libraries."""
    lines = (DOCS / page).read_text().splitlines()
    return [[cell.strip() for cell in it.strip("|").split("|")] for it in lines if it.startswith("| `peer-")]


def test_figures_are_those_of_the_performance_page() -> None:
    measured = [[row[0], row[1], *row[4:7]] for row in rows("performance.md") if len(row) == len(COLUMNS)]
    shown = rows("comparison.md")
    assert shown
    assert [row for row in shown if row not in measured] == []
