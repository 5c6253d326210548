"""`symposia review`: reviews of files or archived sessions by a panel; the findings decide the exit code.

`symposia review src` is short for `symposia review files src`.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..common.options import AsJson, Exclude, Include, Participant, Tag, Verbose
from . import comments, runs
from .options import (
    Against,
    Branch,
    Config,
    Deliver,
    DryRun,
    Everything,
    FailOnOption,
    Formats,
    KnownFindings,
    MaxTokens,
    MaxUsd,
    MinConfidence,
    Model,
    NoConfig,
    Output,
    Parallel,
    PullRequest,
    WriteBaseline,
    chosen_config,
)

#: Name of the default command.
DEFAULT_COMMAND = "files"
_HELP_OPTIONS = ("--help", "-h")


class DefaultGroup(TyperGroup):
    """Group that passes arguments to `DEFAULT_COMMAND` if the first one is not a command.

    Users write a path with the name of a command as `./list`.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the default command if the first argument is not a command."""
        if not args or (args[0] not in self.commands and args[0] not in _HELP_OPTIONS):
            args = [DEFAULT_COMMAND, *args]
        return super().parse_args(ctx, args)


#: Help text of the group.
_HELP = """Review files or archived sessions with a panel of reviewers, and report the findings.

`symposia review PATH` is short for `symposia review files PATH`. For all options: symposia review files --help

Example: [bold]symposia review src --fail-on high[/bold]
"""


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(cls=DefaultGroup, help=_HELP)
    group.command(DEFAULT_COMMAND)(files)
    group.command()(sessions)
    runs.add_to(group)
    comments.add_to(group)
    app.add_typer(group, name="review")


def files(  # noqa: PLR0913 - each is an option
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH]...", help="Files and folders to review; without any, the working folder."
        ),
    ] = None,
    panel: Annotated[
        str, typer.Option(help="Panel that reviews: code, document, pair, or a panel of panels.toml.")
    ] = "code",
    model: Model = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="REV",
            help="Review only changes since this git revision; `last` means since the last completed run.",
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="BRANCH", help="Review only changes since the merge base of HEAD and this branch."
        ),
    ] = None,
    include: Include = None,
    exclude: Exclude = None,
    root_name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name that identifies the reviewed folder in later runs, even if its path has changed.",
            show_default="the path of the folder",
        ),
    ] = None,
    config: Config = None,
    no_config: NoConfig = False,
    branch: Branch = None,
    against: Against = "last",
    repository_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Address of the repository, for links to lines in reports.",
            show_default="the git remote origin",
        ),
    ] = None,
    everything: Everything = False,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    parallel: Parallel = None,
    min_confidence: MinConfidence = None,
    dry_run: DryRun = False,
    formats: Formats = None,
    output: Output = None,
    fail_on: FailOnOption = "low",
    baseline: KnownFindings = None,
    write_baseline: WriteBaseline = None,
    deliver: Deliver = None,
    pull_request: PullRequest = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Review files: all, or only those that changed.

    Starts missing services and stops them when the review ends: the embedded server, a worker, the local model if an agent uses
    it. The worker does not read an agents file from the reviewed folder; set SYMPOSIA_AGENTS_FILE to use one.

    Example: [bold]symposia review files src --base main --format sarif --output reports[/bold]
    """
    settings = chosen_config(config, no_config=no_config)
    from ...config.standard_variables import find_pull_request
    from ...reviews.requests.files import HowToReview, request_for_files
    from .run_review import ReviewOptions, run_and_report

    how: HowToReview = {
        "panel": panel,
        "model": model,
        "since": since,
        "base": base,
        "include": include or (),
        "exclude": exclude or (),
        "config": settings,
        "branch": branch,
        "against": against,
        "root_name": root_name,
        "repository_url": repository_url,
        "everything": everything,
        "deliver": deliver or (),
        "pull_request": find_pull_request() if pull_request is None else pull_request,
    }
    wishes = ReviewOptions(
        formats=formats,
        output=output,
        fail_on=fail_on,
        baseline=baseline,
        write_baseline=write_baseline,
        deliver=deliver,
        max_tokens=max_tokens,
        max_usd=max_usd,
        parallel=parallel,
        min_confidence=min_confidence,
        dry_run=dry_run,
        verbose=verbose,
        as_json=as_json,
    )
    run_and_report(lambda archive: request_for_files(paths or (), archive=archive, **how), wishes)


def sessions(  # noqa: PLR0913 - each is an option
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...", help="Ids of archived sessions; without any, all sessions that have ended."
        ),
    ] = None,
    panel: Annotated[
        str, typer.Option(help="Panel that reviews: document, pair, or a panel of panels.toml.")
    ] = "document",
    model: Model = None,
    tag: Tag = None,
    participant: Participant = None,
    newest: Annotated[
        int | None,
        typer.Option(min=1, max=5_000, help="Maximum number of sessions, newest first.", show_default="5000"),
    ] = None,
    everything: Everything = False,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    parallel: Parallel = None,
    min_confidence: MinConfidence = None,
    dry_run: DryRun = False,
    formats: Formats = None,
    output: Output = None,
    fail_on: FailOnOption = "low",
    baseline: KnownFindings = None,
    write_baseline: WriteBaseline = None,
    deliver: Deliver = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Review archived sessions. The text that is reviewed is the transcript of a session.

    Sessions that were part of a review are included only if their ids are given.

    Example: [bold]symposia review sessions --tag support --newest 50 --model local[/bold]
    """
    from ...reviews.requests.files import HowToReviewSessions, request_for_sessions
    from .run_review import ReviewOptions, run_and_report

    how: HowToReviewSessions = {
        "panel": panel,
        "model": model,
        "tag": tag,
        "participant": participant,
        "newest": newest,
        "everything": everything,
        "deliver": deliver or (),
    }
    wishes = ReviewOptions(
        formats=formats,
        output=output,
        fail_on=fail_on,
        baseline=baseline,
        write_baseline=write_baseline,
        deliver=deliver,
        max_tokens=max_tokens,
        max_usd=max_usd,
        parallel=parallel,
        min_confidence=min_confidence,
        dry_run=dry_run,
        verbose=verbose,
        as_json=as_json,
    )
    run_and_report(lambda archive: request_for_sessions(ids or (), archive=archive, **how), wishes)
