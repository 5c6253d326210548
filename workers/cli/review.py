"""`symposia review`: a panel reviews files, and what it found decides the exit code."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import reviews
from .default_command import DEFAULT, DefaultGroup
from .options import AsJson

if TYPE_CHECKING:
    from ...models.review.runs import ReviewRun
    from ...reviews.baseline import Baseline

#: How this review is told on the help page of the group.
_HELP = """Have a panel of reviewers look at files, and report what it finds.

Example: [bold]symposia review src --fail-on high[/bold], which is short for [bold]symposia review files src --fail-on high[/bold]; see `symposia review files --help` for all options.
"""


class Format(StrEnum):
    """Reports, by the names the models have for them."""

    MARKDOWN = "markdown"
    HTML = "html"
    SARIF = "sarif"
    JUNIT = "junit"
    JSONL = "jsonl"
    ALIGNMENT = "alignment"
    ALL = "all"


class FailOn(StrEnum):
    """How much a finding must matter to fail, by the names the models have."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"
    NEVER = "never"


Formats = Annotated[
    list[Format] | None,
    typer.Option("--format", help="Write this report; may be repeated. One alone is printed."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="The folder the reports are written to.")]
Fails = Annotated[
    FailOn, typer.Option("--fail-on", help="Exit with 1 when a finding matters as much as this, or more.")
]


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    group = typer.Typer(cls=DefaultGroup, help=_HELP)
    group.command(DEFAULT)(files)
    reviews.add_to(group)
    app.add_typer(group, name="review")


def files(  # noqa: PLR0913 - each is an option
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Files and folders; none: the working folder."),
    ] = None,
    panel: Annotated[
        str, typer.Option(help="Who reviews: code, document, pair, or one of panels.toml.")
    ] = "code",
    model: Annotated[
        str | None,
        typer.Option(help="The agent in the panel's seats for a model, such as local; none: no model."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="REV", help="Only what changed since; `last`: since the last complete run."),
    ] = None,
    base: Annotated[
        str | None, typer.Option(metavar="BRANCH", help="Only what changed since leaving this branch.")
    ] = None,
    include: Annotated[list[str] | None, typer.Option(help="Only files that this pattern fits.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="No files that this pattern fits.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also what has not changed since this panel reviewed it last.")
    ] = False,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Tokens that all of it may cost.")] = None,
    max_usd: Annotated[
        float | None, typer.Option(min=1e-6, help="US dollars that all of it may cost.")
    ] = None,
    parallel: Annotated[int | None, typer.Option(min=1, max=64, help="Items reviewed side by side.")] = None,
    formats: Formats = None,
    output: Output = None,
    fail_on: Fails = FailOn.LOW,
    baseline: Annotated[
        Path | None,
        typer.Option(help="Findings that are known, and fail nothing: a file of --write-baseline."),
    ] = None,
    write_baseline: Annotated[
        Path | None, typer.Option("--write-baseline", help="Write what is found now as known to this file.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show what the worker logs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Review files: what changed, or all that there are.

    Starts what is missing for as long as it lasts: the embedded server, a worker, the local model when it is asked for. The
    worker reads no agents file of the folder that is reviewed; SYMPOSIA_AGENTS_FILE names one.

    Example: [bold]symposia review files src --base main --format sarif --output reports[/bold]
    """
    from ...models.review.panels import BatchLimits
    from ...reviews.baseline import baseline_of
    from ..reviewing_files import Reviewing, review_files
    from .review_output import Reports, ending, write_reports
    from .review_progress import Progress
    from .screen import console

    known = _baseline(baseline)
    reports = Reports.of(formats or (), output)
    asked = Reviewing(
        paths=tuple(paths or ()),
        limits=BatchLimits(max_tokens=max_tokens, max_usd=max_usd),
        parallel=parallel,
        how={
            "panel": panel,
            "model": model,
            "since": since,
            "base": base,
            "include": include or (),
            "exclude": exclude or (),
            "everything": everything,
        },
    )
    with Progress(console(stderr=True), verbose=verbose) as progress:
        run, transcript = review_files(asked, progress)
    if write_baseline is not None:
        write_baseline.write_text(baseline_of(run.findings), encoding="utf-8")
    run = _suppressed(run, known)
    write_reports(run, reports, as_json=as_json, transcript=transcript)
    ending(run, reports, as_json=as_json)
    _exit(run, fail_on)


def _baseline(path: Path | None) -> Baseline | None:
    """What the file knows; read before anything is started."""
    from ...models.errors import InvalidInput
    from ...reviews.baseline import read_baseline

    if path is None:
        return None
    try:
        return read_baseline(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput("baseline", str(path), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput("baseline", str(path), "must be text in UTF-8") from None


def _suppressed(run: ReviewRun, known: Baseline | None) -> ReviewRun:
    from ...reviews.comparing import with_baseline

    return run if known is None else with_baseline(run, known)


def _exit(run: ReviewRun, fail_on: FailOn) -> None:
    """0: reviewed, and nothing found that matters; 1 otherwise."""
    from ...models.review.runs import RunState
    from ...models.review.severity import Severity

    if run.state is not RunState.COMPLETED:
        raise typer.Exit(1)
    if fail_on is not FailOn.NEVER and run.fails(Severity(fail_on.value)):
        raise typer.Exit(1)
