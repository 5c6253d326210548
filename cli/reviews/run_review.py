"""Review that a command runs: its progress on the terminal, its reports and the exit code."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.text import Text

from ...models.errors import InvalidInput
from ...models.gate import Gate
from ...models.text.ids import ms_from_moment, utcnow
from ...models.text.redact import json_text
from ...reviews.batches.request import ReviewRequest
from ...reviews.findings import Baseline, baseline_of, read_baseline, with_baseline
from ...reviews.progress import Progress
from ...reviews.state.records import BatchView
from ...reviews.values.panels import BatchLimits
from ...reviews.values.runs import ReviewRun, RunState
from ..common.screen import console, printable
from .estimates import print_estimate
from .local_review import LocalReviewRequest, estimate_local_review, run_local_review
from .options import NEVER
from .output import Reports, check_file_target, print_findings, write_reports

if TYPE_CHECKING:
    from ...archive.archive import Archive


#: Seconds between two lines of progress, without a terminal.
PROGRESS_EVERY_S = 30.0


class ReviewProgress:
    """Context manager that shows a progress bar and lines; without a terminal, progress is a line from time to time.

    With `as_json`, each line of progress is a JSON object whose `event` is `progress`.
    """

    def __init__(
        self,
        console: Console,
        *,
        verbose: bool,
        as_json: bool = False,
        every_s: float = PROGRESS_EVERY_S,
    ) -> None:
        self._console = console
        self._verbose = verbose
        self._as_json = as_json
        self._every_s = every_s
        self._last_line = time.monotonic()
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
        progress = Progress.of(view, now_ms=ms_from_moment(utcnow()))
        failed = [f"{view.failed} failed"] if view.failed else []
        words = ["reviewing", f"{view.running} running", *failed, *progress.cost_parts]
        description = "reporting" if view.settled == view.total else ", ".join(words)
        self._bars.update(self._bar, description=description, total=view.total, completed=view.settled)
        if self._bars.disable and time.monotonic() - self._last_line >= self._every_s:
            self._last_line = time.monotonic()
            self._print_progress(progress)

    def _print_progress(self, progress: Progress) -> None:
        """Print one line about the progress, which is not wrapped."""
        line = (
            json_text({"event": "progress", **progress.to_json()})
            if self._as_json
            else f"Reviewed {progress}."
        )
        self._console.print(Text(line), soft_wrap=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOptions:
    """Values of the options that all reviews share."""

    formats: list[str] | None
    output: Path | None
    fail_on: str
    baseline: Path | None
    write_baseline: Path | None
    deliver: list[str] | None
    max_tokens: int | None
    max_usd: float | None
    parallel: int | None
    min_confidence: float | None
    dry_run: bool
    verbose: bool
    as_json: bool


def run_and_report(order: Callable[[Archive | None], ReviewRequest], wishes: ReviewOptions) -> None:
    """Run a review and report it.

    Args:
        order: Function that returns the review request; its argument is the archive, if there is one.
        wishes: Values of the options.

    Raises:
        typer.Exit: with code 1 if a finding reaches `fail_on`, the run did not complete, or its report was not
            delivered.
    """
    if wishes.baseline is not None and wishes.deliver:
        rule = "cannot be combined with --deliver: delivered reports have the findings of the baseline, too"
        raise InvalidInput("baseline", str(wishes.baseline), rule)
    if wishes.write_baseline is not None:
        check_file_target(wishes.write_baseline, field="write_baseline")
    known = _baseline(wishes.baseline)
    reports = Reports.of(wishes.formats or (), wishes.output)
    if wishes.as_json and reports.is_printed:
        raise InvalidInput(
            "format", reports.formats[0].name, "must be written to a folder with --json: --output DIR"
        )
    limits = BatchLimits(max_tokens=wishes.max_tokens, max_usd=wishes.max_usd)
    asked = LocalReviewRequest(
        order=order, limits=limits, parallel=wishes.parallel, min_confidence=wishes.min_confidence
    )
    if wishes.dry_run:
        print_estimate(estimate_local_review(asked), as_json=wishes.as_json)
        return
    with ReviewProgress(console(stderr=True), verbose=wishes.verbose, as_json=wishes.as_json) as progress:
        review = run_local_review(asked, progress)
    run = review.run
    if wishes.write_baseline is not None:
        wishes.write_baseline.write_text(baseline_of(run.findings), encoding="utf-8")
    if known is not None:
        run = with_baseline(run, known)
    write_reports(run, reports, as_json=wishes.as_json, transcript=review.transcript)
    print_findings(run, reports, as_json=wishes.as_json)
    for line in review.undelivered:
        console(stderr=True).print(printable(f"Delivery failed: {line}"), style="red")
    if review.undelivered:
        raise typer.Exit(1)
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
