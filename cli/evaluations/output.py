"""Output of `symposia eval`: a progress line, a table of the variants, JSON and HTML files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.text import Text

from ...evaluation.results import (
    EvaluatedRun,
    EvaluationResult,
    RunState,
    VariantSummary,
    render_html,
    score_text,
)
from ...evaluation.runner import EvaluationProgress
from ...models.errors import InvalidInput
from ..common.screen import console, plain_table, printable

#: Path of standard output.
_STDOUT = Path("-")
#: Seconds between two progress lines without a terminal.
_LINE_EVERY_S = 10.0
#: Maximum number of runs that are listed below the table.
_LISTED = 20


class EvaluationProgressLine:
    """Progress on a console: a line that is replaced in a terminal, else a line from time to time."""

    def __init__(self, screen: Console) -> None:
        self._screen = screen
        self._status = screen.status("Starting") if screen.is_terminal else None
        self._last_s = float("-inf")

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, progress: EvaluationProgress) -> None:
        """Show the progress."""
        if self._status is not None:
            self._status.update(f"Evaluated {progress}")
            return
        now = time.monotonic()
        if progress.done == progress.runs or now - self._last_s >= _LINE_EVERY_S:
            self._last_s = now
            self._screen.print(Text(f"Evaluated {progress}."), soft_wrap=True)


def check_target(path: Path | None) -> None:
    """Check that a file can be written, before anything runs.

    Raises:
        InvalidInput: It is a folder, its folder does not exist, or it is `-`.
    """
    if path is None:
        return
    if path == _STDOUT:
        raise InvalidInput("html", str(path), "must be a file; only JSON can be printed")
    if path.is_dir():
        raise InvalidInput("html", str(path), "must be a file, not a folder")
    if not path.parent.is_dir():
        raise InvalidInput("html", str(path), "must be in a folder that exists")


def write_html(result: EvaluationResult, path: Path | None) -> None:
    """Write the result as one HTML file."""
    if path is not None:
        path.write_text(render_html(result), encoding="utf-8")


def print_result(result: EvaluationResult, *, aside: bool) -> None:
    """Print the table of variants, and the runs without a score.

    Args:
        result: The result.
        aside: Print on standard error, because standard output has JSON.
    """
    screen = console(stderr=aside)
    summaries = result.summaries
    scorers = result.scorers
    numbers = (
        *("score", "spread", *map(printable, scorers), "runs", "failed"),
        *("tokens", "US$", "judges US$", "seconds"),
    )
    table = plain_table("variant", *numbers, right=numbers, pad_edge=True)
    for summary in summaries:
        table.add_row(printable(summary.variant), *_cells(summary, scorers))
    screen.print(table)
    lines = [line for run in result.runs if (line := _problem(run))]
    for line in lines[:_LISTED]:
        screen.print(printable(line), style="dim", markup=False, soft_wrap=True)
    if len(lines) > _LISTED:
        screen.print(f"... and {len(lines) - _LISTED} more: --json has all.", style="dim")


def _cells(it: VariantSummary, scorers: Sequence[str]) -> tuple[str, ...]:
    return (
        score_text(it.score),
        score_text(it.spread),
        *(score_text(it.scorers.get(name)) for name in scorers),
        f"{it.runs - it.not_run}" + (f" of {it.runs}" if it.not_run else ""),
        str(it.failed),
        f"{it.usage.tokens:,}",
        f"{it.usage.cost_micros / 1e6:.4f}",
        f"{it.judge_usage.cost_micros / 1e6:.4f}",
        "-" if it.seconds is None else f"{it.seconds:.2f}",
    )


def _problem(run: EvaluatedRun) -> str:
    """Return a line about a run that has no score; empty if it has one."""
    head = f"{run.session_id[:8]} {run.case} / {run.variant} #{run.repeat}"
    match run.state:
        case RunState.FAILED:
            return f"{head}: session failed: {run.reason}"
        case RunState.NOT_RUN:
            return f"{head}: not run: {run.reason}"
        case _:
            return "; ".join(f"{head}: {it.scorer}: {it.reason}" for it in run.scores if it.score is None)
