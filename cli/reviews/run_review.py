"""Review that a command runs: its reports and the exit code, or with `--dry-run` an estimate of its cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ...models.errors import InvalidInput
from ...models.gate import Gate
from ...models.text.words import count_of, dollars
from ...reviews.batches.request import ItemEstimate, ReviewEstimate, ReviewRequest
from ...reviews.findings import Baseline, baseline_of, read_baseline, with_baseline
from ...reviews.values.coverage import coverage_of
from ...reviews.values.panels import BatchLimits
from ...reviews.values.runs import ReviewRun, RunState
from ...reviews.values.skipped import fold_by_reason
from ..common.exit_codes import ExitCode
from ..common.screen import console, plain_table, print_json, printable
from .local_review import LocalReviewRequest, ReviewProgress, estimate_local_review, run_local_review
from .options import NEVER
from .output import Reports, check_file_target, print_findings, write_reports

if TYPE_CHECKING:
    from ...archive.archive import Archive


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
    batch_api: bool | None
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
        typer.Exit: with code 1 if a finding reaches `fail_on`, or the report was not delivered; with code 5 if the
            run did not complete, or `fail_on` has `unreviewed` and an item was not reviewed.
    """
    if wishes.baseline is not None and wishes.deliver:
        rule = "cannot be combined with --deliver: delivered reports have the findings of the baseline, too"
        raise InvalidInput("baseline", str(wishes.baseline), rule)
    if wishes.write_baseline is not None:
        check_file_target(wishes.write_baseline, field="write_baseline")
    baseline = _baseline(wishes.baseline)
    reports = Reports.of(wishes.formats or (), wishes.output)
    if wishes.as_json and reports.is_printed:
        raise InvalidInput(
            "format", reports.formats[0].name, "must be written to a folder with --json: --output DIR"
        )
    limits = BatchLimits(max_tokens=wishes.max_tokens, max_usd=wishes.max_usd)
    asked = LocalReviewRequest(
        order=order,
        limits=limits,
        parallel=wishes.parallel,
        min_confidence=wishes.min_confidence,
        batch_api=wishes.batch_api,
    )
    if wishes.dry_run:
        print_estimate(estimate_local_review(asked), as_json=wishes.as_json)
        return
    with ReviewProgress(console(stderr=True), verbose=wishes.verbose, as_json=wishes.as_json) as progress:
        review = run_local_review(asked, progress)
    run = review.run
    if wishes.write_baseline is not None:
        wishes.write_baseline.write_text(baseline_of(run.findings), encoding="utf-8")
    if baseline is not None:
        run = with_baseline(run, baseline)
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
    """Exit with 1 if a finding reaches the gate, with 5 if items that matter were not reviewed."""
    gate = None if fail_on == NEVER else Gate.parse(fail_on)
    if gate is not None and gate.fails(run.findings):
        raise typer.Exit(ExitCode.CANCELLED)
    coverage = coverage_of(run)
    if run.state is not RunState.COMPLETED or (gate and gate.unreviewed and not coverage.is_whole):
        console(stderr=True).print(printable(f"Incomplete: {str(coverage) or run.summary}"), style="red")
        raise typer.Exit(ExitCode.INCOMPLETE)


def print_estimate(estimate: ReviewEstimate, *, as_json: bool) -> None:
    """Print the estimate as a table, or as JSON."""
    if as_json:
        print_json(_estimate_json(estimate))
        return
    numbers = ("chunks", "sessions", "tokens", "US$")
    table = plain_table("item", *numbers, right=numbers, pad_edge=True)
    for item in estimate.items:
        table.add_row(printable(item.path), *_estimate_cells(item))
    screen = console()
    screen.print(table)
    for entry in fold_by_reason(estimate.skipped):
        screen.print(printable(f"skipped: {entry}"), style="dim", markup=False)
    screen.print(printable(_total(estimate)), markup=False)


def _estimate_cells(item: ItemEstimate) -> tuple[str, str, str, str]:
    if item.is_unchanged:
        return "unchanged", "0", "0", _cost(0)
    return str(item.chunks), str(item.sessions), f"{item.tokens:,}", _cost(item.cost_micros)


def _cost(micros: int | None) -> str:
    return "not known" if micros is None else dollars(micros)


def _total(estimate: ReviewEstimate) -> str:
    limits = estimate.panel.batch
    cost = estimate.cost_micros
    price = "cost not known: the registry has no price of the model"
    if cost is not None:
        price = f"about {dollars(cost)}"
    sessions = f"{count_of(len(estimate.items), 'item')}, {count_of(estimate.sessions, 'session')}"
    lines = [f"{sessions}, about {count_of(estimate.tokens, 'token', spec=',')}, {price}."]
    if limits.max_tokens is not None and estimate.tokens > limits.max_tokens:
        lines.append(
            f"This is more than the limit of {limits.max_tokens:,} tokens: the review would be partial."
        )
    if limits.max_cost_micros is not None and cost is not None and cost > limits.max_cost_micros:
        lines.append(f"This is more than the limit of ${limits.max_usd:g}: the review would be partial.")
    return " ".join(lines)


def _estimate_json(estimate: ReviewEstimate) -> dict[str, object]:
    return {
        "panel": estimate.panel.name,
        "sessions": estimate.sessions,
        "tokens": estimate.tokens,
        "cost_micros": estimate.cost_micros,
        "items": [
            {
                "path": item.path,
                "state": "unchanged" if item.is_unchanged else "waiting",
                "chunks": item.chunks,
                "sessions": item.sessions,
                "tokens": item.tokens,
                "cost_micros": item.cost_micros,
            }
            for item in estimate.items
        ],
        "skipped": [item.model_dump(mode="json") for item in estimate.skipped],
    }
