"""Review that a command runs: its progress on the terminal, its reports and the exit code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from ....models.errors import InvalidInput
from ....models.gate import Gate
from ....models.review.panels import BatchLimits
from ....models.review.runs import ReviewRun, RunState
from ....reviews.batches.start import ReviewRequest
from ....reviews.findings import Baseline, baseline_of, read_baseline, with_baseline
from ....state.reviews.records import BatchView
from ...local.local_review import LocalReviewRequest, run_local_review
from ..common.screen import console, printable
from .options import NEVER
from .output import Reports, print_findings, write_reports

if TYPE_CHECKING:
    from ....archive.archive import Archive


class ReviewProgress:
    """Context manager that shows a progress bar and lines; without a terminal, only the lines."""

    def __init__(self, console: Console, *, verbose: bool) -> None:
        self._console = console
        self._verbose = verbose
        self._bars = Bars(
            *(SpinnerColumn(), TextColumn("{task.description}", markup=False)),
            *(BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn()),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._bar = self._bars.add_task("reading", total=None)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def show_line(self, line: str) -> None:
        """Print a line above the bar."""
        self._console.print(printable(line))

    def show_output(self, name: str, line: str) -> None:
        """Print the output of a program, with --verbose."""
        if self._verbose:
            self._console.print(f"{name} | {printable(line)}", style="dim")

    def show_read_count(self, count: int) -> None:
        """Show the number of items read."""
        self._bars.update(self._bar, description="reading", completed=count)

    def show_progress(self, view: BatchView) -> None:
        """Update the bar."""
        failed = f", {view.failed} failed" if view.failed else ""
        description = (
            "reporting" if view.settled == view.total else f"reviewing, {view.running} running{failed}"
        )
        self._bars.update(self._bar, description=description, total=view.total, completed=view.settled)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOptions:
    """Values of the options that all reviews share."""

    formats: list[str] | None
    output: Path | None
    fail_on: str
    baseline: Path | None
    write_baseline: Path | None
    max_tokens: int | None
    max_usd: float | None
    parallel: int | None
    verbose: bool
    as_json: bool


def run_and_report(order: Callable[[Archive | None], ReviewRequest], wishes: ReviewOptions) -> None:
    """Run a review and report it.

    Args:
        order: Function that returns the review request; its argument is the archive, if there is one.
        wishes: Values of the options.

    Raises:
        typer.Exit: with code 1 if a finding reaches `fail_on`, or the run did not complete.
    """
    known = _baseline(wishes.baseline)
    reports = Reports.of(wishes.formats or (), wishes.output)
    limits = BatchLimits(max_tokens=wishes.max_tokens, max_usd=wishes.max_usd)
    asked = LocalReviewRequest(order=order, limits=limits, parallel=wishes.parallel)
    with ReviewProgress(console(stderr=True), verbose=wishes.verbose) as progress:
        run, transcript = run_local_review(asked, progress)
    if wishes.write_baseline is not None:
        wishes.write_baseline.write_text(baseline_of(run.findings), encoding="utf-8")
    if known is not None:
        run = with_baseline(run, known)
    write_reports(run, reports, as_json=wishes.as_json, transcript=transcript)
    print_findings(run, reports, as_json=wishes.as_json)
    _exit(run, wishes.fail_on)


def _baseline(path: Path | None) -> Baseline | None:
    """Return the baseline of the file, which is read before any service starts."""
    if path is None:
        return None
    try:
        return read_baseline(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput("baseline", str(path), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput("baseline", str(path), "must be UTF-8 text") from None


def _exit(run: ReviewRun, fail_on: str) -> None:
    """Exit with 1 unless the run completed without a finding that reaches `fail_on`."""
    if run.state is not RunState.COMPLETED:
        raise typer.Exit(1)
    if fail_on != NEVER and Gate.parse(fail_on).fails(run.findings):
        raise typer.Exit(1)
