"""Tables: the measures of a run with its circumstances, and the changes since a baseline; also as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from harness.results import Change, Measure, Results, Spread

HEADINGS = ("case", "measure", "unit", "better", "value", "yardstick", "ratio", "min", "max")
CHANGES = ("case", "measure", "before", "now", "factor", "verdict")


def number(value: float) -> str:
    """Return a number with three significant digits, or without decimals from 100 on."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def measure_row(measure: Measure) -> tuple[str, ...]:
    """Return the cells of a measure."""
    ratio = measure.ratio
    bare = number(statistics.median(measure.bare)) if measure.bare else ""
    better = "more" if measure.more_is_better else "less"
    ratios = spread_cells(ratio) if ratio else ("", "", "")
    value = number(statistics.median(measure.ours))
    return (measure.case, measure.name, measure.unit, better, value, bare, *ratios)


def spread_cells(spread: Spread) -> tuple[str, str, str]:
    """Return median, least and greatest with two decimals."""
    return f"{spread.median:.2f}", f"{spread.low:.2f}", f"{spread.high:.2f}"


def change_row(change: Change) -> tuple[str, ...]:
    """Return the cells of a change."""
    kind = "" if change.measure.ratio else f" {change.measure.unit}"
    before, now = (number(summary.median) + kind for summary in (change.before, change.measure.compared))
    return (
        change.measure.case,
        change.measure.name,
        before,
        now,
        f"{change.factor:.2f}",
        change.verdict,
    )


def circumstance_lines(results: Results) -> Iterator[str]:
    """Return the circumstances as lines of text."""
    about = results.circumstances
    yield f"{about['date']}, size {results.size}, load before the run {about['load_before']}"
    yield f"{about['cores']} cores, {about['processor']}, {about['memory_gb']} GB, {about['system']}"
    packages = ", ".join(f"{name} {version}" for name, version in about["packages"].items())
    yield f"Python {about['python']}, {about['server']}, {packages}"


def print_results(results: Results) -> None:
    """Print the circumstances, the measures, and what was skipped or failed."""
    for line in circumstance_lines(results):
        print(line)
    if results.measures:
        _print(
            "Median values, and the ratios of the pairs: median, min, max",
            HEADINGS,
            [measure_row(measure) for measure in results.measures],
        )
    for name, why in results.skipped.items():
        print(f"skipped {name}: {why}")
    for name, why in results.failed.items():
        print(f"FAILED {name}: {why}")


def print_changes(changes: Sequence[Change]) -> None:
    """Print what has changed since the baseline."""
    _print(
        "Ratios to the yardstick, compared with the baseline",
        CHANGES,
        [change_row(change) for change in changes],
    )


def _print(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(title=title)
    for heading in headings:
        left = heading in ("case", "measure", "unit", "better", "verdict")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console(width=160).print(table)


def to_markdown(results: Results) -> str:
    """Return the circumstances and the measures as Markdown."""
    rows = [HEADINGS, tuple("---" for _ in HEADINGS), *(measure_row(measure) for measure in results.measures)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return "\n".join(f"{line}  " for line in circumstance_lines(results)) + f"\n\n{table}\n"
