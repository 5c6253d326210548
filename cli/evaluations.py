"""`symposia eval`: a progress line, a table of the variants, JSON and HTML files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Self

import typer

from ..models.text.words import dollars
from .common.options import AsJson, Verbose
from .common.screen import console, output_printer, plain_table, print_json, printable

if TYPE_CHECKING:
    from rich.console import Console

    from ..evaluation.cases_file import CasesFile
    from ..evaluation.results import EvaluatedRun, EvaluationResult, VariantSummary
    from ..evaluation.runner import EvaluationProgress

#: Path of standard output.
_STDOUT = Path("-")
#: Seconds between two progress lines without a terminal.
_LINE_EVERY_S = 10.0
#: Maximum number of runs that are listed below the table.
_LISTED = 20

File = Annotated[
    str, typer.Argument(metavar="CASES", help="Cases file, YAML or JSON; - reads standard input.")
]
Name = Annotated[
    str | None,
    typer.Option(
        help="Name of the evaluation; under another name, all runs run again.",
        show_default="as in the file, else the file's name",
    ),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Run all again, under a new name that is printed.")]
MinScore = Annotated[
    float | None,
    typer.Option(help="Exit with 1 if the mean score of a variant is below this (0 to 1).", min=0, max=1),
]
Parallel = Annotated[
    int | None,
    typer.Option(
        help="Maximum number of runs at the same time.", min=1, max=64, show_default="as in the file, else 8"
    ),
]
HtmlFile = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the result as HTML.")]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("eval")(evaluate)


def evaluate(
    file: File,
    name: Name = None,
    fresh: Fresh = False,
    min_score: MinScore = None,
    parallel: Parallel = None,
    as_json: AsJson = False,
    html_file: HtmlFile = None,
    verbose: Verbose = False,
) -> None:
    """Run cases with variants of a session, score the answers, and compare the variants.

    Each run is a session that runs once: the same command again, also after it was interrupted or killed, reads the
    sessions that exist and submits those that are missing. Starts missing services, as `symposia run`.

    With --json, the table is on standard error.

    Exits with 1 if a variant is below --min-score, a scorer failed, or a limit of the file was reached.

    Example: [bold]symposia eval examples/eval/cases.yaml --min-score 0.5[/bold]
    """
    from ..config.settings import load_settings
    from ..evaluation.cases_file import CasesFile

    _check_target(html_file)
    cases = CasesFile.open(file, root=load_settings().session_root)
    if name is not None or fresh:
        cases = cases.renamed(_fresh_name(name or cases.evaluation.name) if fresh else str(name))
    if parallel is not None:
        cases = cases.with_parallel(parallel)
    result = _run(cases, fresh=fresh, verbose=verbose)
    _write_html(result, html_file)
    if as_json:
        print_json(result.to_json())
    _print_result(result, aside=as_json)
    if not result.reaches(min_score or 0.0):
        raise typer.Exit(1)


def _fresh_name(name: str) -> str:
    from ..models.text.ids import new_id

    return f"{name[:80]}-{new_id()[:8]}"


def _run(cases: CasesFile, *, fresh: bool, verbose: bool) -> EvaluationResult:
    from ..client.building.runtime import load_registry
    from ..client.client import run_cases
    from ..config.settings import load_settings
    from ..workers.local.code_check import registered_names
    from ..workers.local.local_runtime import needs_local_model, start_local_runtime

    settings, aside = load_settings(), console(stderr=True)
    limit = settings.max_message_bytes
    # Check before any service starts: a wrong file must not start one.
    prepared = cases.check(known_agents=frozenset(), max_message_bytes=limit)
    cases.check_messages(max_message_bytes=limit)
    registry = load_registry(settings)
    if fresh:
        aside.print(
            f"Evaluation {printable(cases.evaluation.name)}; to continue it: --name {printable(cases.evaluation.name)}"
        )

    heard = output_printer(aside, verbose=verbose)
    local_model = any(needs_local_model(registry, submission) for submission in prepared)
    with start_local_runtime(settings, local_model=local_model, say=aside.print, heard=heard) as runtime:
        agent_names = runtime.client.known_agents() or registered_names(registry, settings)
        cases.check(known_agents=agent_names, max_message_bytes=limit)
        try:
            with _ProgressLine(aside) as progress:
                return run_cases(
                    runtime.client, cases, on_progress=progress.show, between=runtime.check_services
                )
        except KeyboardInterrupt:
            aside.print(
                "Interrupted. Submitted sessions continue when a worker is running. To continue: the same command again."
            )
            raise


class _ProgressLine:
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
        from rich.text import Text

        if self._status is not None:
            self._status.update(f"Evaluated {progress}")
            return
        now = time.monotonic()
        if progress.done == progress.runs or now - self._last_s >= _LINE_EVERY_S:
            self._last_s = now
            self._screen.print(Text(f"Evaluated {progress}."), soft_wrap=True)


def _check_target(path: Path | None) -> None:
    """Check that a file can be written, before anything runs.

    Raises:
        InvalidInput: It is a folder, its folder does not exist, or it is `-`.
    """
    from ..models.errors import InvalidInput

    if path is None:
        return
    if path == _STDOUT:
        raise InvalidInput("html", str(path), "must be a file; only JSON can be printed")
    if path.is_dir():
        raise InvalidInput("html", str(path), "must be a file, not a folder")
    if not path.parent.is_dir():
        raise InvalidInput("html", str(path), "must be in a folder that exists")


def _write_html(result: EvaluationResult, path: Path | None) -> None:
    """Write the result as one HTML file."""
    from ..evaluation.results import render_html

    if path is not None:
        path.write_text(render_html(result), encoding="utf-8")


def _print_result(result: EvaluationResult, *, aside: bool) -> None:
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


def _cells(summary: VariantSummary, scorers: Sequence[str]) -> tuple[str, ...]:
    from ..evaluation.results import score_text

    return (
        score_text(summary.score),
        score_text(summary.spread),
        *(score_text(summary.scorers.get(name)) for name in scorers),
        f"{summary.runs - summary.not_run}" + (f" of {summary.runs}" if summary.not_run else ""),
        str(summary.failed),
        f"{summary.usage.tokens:,}",
        dollars(summary.usage.cost_micros),
        dollars(summary.judge_usage.cost_micros),
        "-" if summary.seconds is None else f"{summary.seconds:.2f}",
    )


def _problem(run: EvaluatedRun) -> str:
    """Return a line about a run that has no score; empty if it has one."""
    from ..evaluation.results import RunState

    head = f"{run.session_id[:8]} {run.case} / {run.variant} #{run.repeat}"
    match run.state:
        case RunState.FAILED:
            return f"{head}: session failed: {run.reason}"
        case RunState.NOT_RUN:
            return f"{head}: not run: {run.reason}"
        case _:
            return "; ".join(
                f"{head}: {score.scorer}: {score.reason}" for score in run.scores if score.score is None
            )
