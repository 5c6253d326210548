"""`symposia review`: a panel reviews files or archived sessions, and what it found decides the exit code."""

from __future__ import annotations

from typing import Annotated

import typer

from . import reviews
from .default_command import DEFAULT, DefaultGroup
from .options import AsJson
from .review_options import (
    Everything,
    FailOn,
    Fails,
    Formats,
    KnownFindings,
    MaxTokens,
    MaxUsd,
    Model,
    Output,
    Parallel,
    Verbose,
    WriteBaseline,
)

#: How this review is told on the help page of the group.
_HELP = """Have a panel of reviewers look at files, and report what it finds.

Example: [bold]symposia review src --fail-on high[/bold], which is short for [bold]symposia review files src --fail-on high[/bold]; see `symposia review files --help` for all options.
"""


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    group = typer.Typer(cls=DefaultGroup, help=_HELP)
    group.command(DEFAULT)(files)
    group.command()(sessions)
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
    model: Model = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="REV", help="Only what changed since; `last`: since the last complete run."),
    ] = None,
    base: Annotated[
        str | None, typer.Option(metavar="BRANCH", help="Only what changed since leaving this branch.")
    ] = None,
    include: Annotated[list[str] | None, typer.Option(help="Only files that this pattern fits.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="No files that this pattern fits.")] = None,
    root_name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What the root is known again by, wherever it is; else the place of its folder.",
        ),
    ] = None,
    everything: Everything = False,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    parallel: Parallel = None,
    formats: Formats = None,
    output: Output = None,
    fail_on: Fails = FailOn.LOW,
    baseline: KnownFindings = None,
    write_baseline: WriteBaseline = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Review files: what changed, or all that there are.

    Starts what is missing for as long as it lasts: the embedded server, a worker, the local model when it is asked for. The
    worker reads no agents file of the folder that is reviewed; SYMPOSIA_AGENTS_FILE names one.

    Example: [bold]symposia review files src --base main --format sarif --output reports[/bold]
    """
    from ...reviews.ordering import HowToReview, order_of_files
    from .review_here import Wishes, review_here

    how: HowToReview = {
        "panel": panel,
        "model": model,
        "since": since,
        "base": base,
        "include": include or (),
        "exclude": exclude or (),
        "root_name": root_name,
        "everything": everything,
    }
    wishes = Wishes(
        formats=formats,
        output=output,
        fail_on=fail_on,
        baseline=baseline,
        write_baseline=write_baseline,
        max_tokens=max_tokens,
        max_usd=max_usd,
        parallel=parallel,
        verbose=verbose,
        as_json=as_json,
    )
    review_here(lambda archive: order_of_files(paths or (), archive=archive, **how), wishes)


def sessions(  # noqa: PLR0913 - each is an option
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Sessions of the archive; none: all that have ended."),
    ] = None,
    panel: Annotated[
        str, typer.Option(help="Who reviews: document, pair, or one of panels.toml.")
    ] = "document",
    model: Model = None,
    tag: Annotated[str | None, typer.Option(help="Only sessions with this tag.")] = None,
    participant: Annotated[
        str | None, typer.Option(help="Only sessions in which this one took part.")
    ] = None,
    newest: Annotated[
        int | None, typer.Option(min=1, max=5_000, help="At most so many, the newest; 5,000 unless told.")
    ] = None,
    everything: Everything = False,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    parallel: Parallel = None,
    formats: Formats = None,
    output: Output = None,
    fail_on: Fails = FailOn.LOW,
    baseline: KnownFindings = None,
    write_baseline: WriteBaseline = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Review archived sessions, each as the transcript of what was said.

    Sessions of reviews are reviewed only when they are named.

    Example: [bold]symposia review sessions --tag support --newest 50 --model local[/bold]
    """
    from ...reviews.session_orders import HowToReviewSessions, order_of_sessions
    from .review_here import Wishes, review_here

    how: HowToReviewSessions = {
        "panel": panel,
        "model": model,
        "tag": tag,
        "participant": participant,
        "newest": newest,
        "everything": everything,
    }
    wishes = Wishes(
        formats=formats,
        output=output,
        fail_on=fail_on,
        baseline=baseline,
        write_baseline=write_baseline,
        max_tokens=max_tokens,
        max_usd=max_usd,
        parallel=parallel,
        verbose=verbose,
        as_json=as_json,
    )
    review_here(lambda archive: order_of_sessions(ids or (), archive=archive, **how), wishes)
