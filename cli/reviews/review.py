"""`symposia review`: reviews of files or archived sessions by a panel; the findings decide the exit code.

`symposia review src` is short for `symposia review files src`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from . import comments, runs
from .options import OF_ANY_REVIEW, OF_COMMANDS, OF_FILES, OF_SESSIONS, Panel, chosen_config, with_options

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


@with_options({"panel": (Panel, "code")}, OF_FILES, OF_ANY_REVIEW, OF_COMMANDS)
def files(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH]...", help="Files and folders to review; without any, the working folder."
        ),
    ] = None,
    **options: Any,
) -> None:
    """Review files: all, or only those that changed.

    Starts missing services and stops them when the review ends: the embedded server, a worker, the local model if an agent uses
    it. The worker does not read an agents file from the reviewed folder; set SYMPOSIA_AGENTS_FILE to use one.

    Example: [bold]symposia review files src --base main --format sarif --output reports[/bold]
    """
    config = chosen_config(options.pop("config"), no_config=options.pop("no_config"))
    from ...config.standard_variables import find_pull_request, find_pull_request_text
    from ...reviews.requests.files import HowToReview, request_for_files
    from .linked_issues import find_linked_issues
    from .run_review import ReviewOptions, run_and_report

    if options["pull_request"] is None:
        options["pull_request"] = find_pull_request()
    options["pull_request_text"] = find_pull_request_text()
    if options["pull_request"] and (options["base"] or options["since"]) and not options["dry_run"]:
        options["linked_issues"] = find_linked_issues(options["deliver"] or (), options["pull_request"])
    how = cast("HowToReview", {**_given(options, HowToReview), "config": config})
    wishes = ReviewOptions(**_given(options, ReviewOptions))
    run_and_report(lambda archive: request_for_files(paths or (), archive=archive, **how), wishes)


@with_options({"panel": (Panel, "document")}, OF_SESSIONS, OF_ANY_REVIEW, OF_COMMANDS)
def sessions(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...", help="Ids of archived sessions; without any, all sessions that have ended."
        ),
    ] = None,
    **options: Any,
) -> None:
    """Review archived sessions. The text that is reviewed is the transcript of a session.

    Sessions that were part of a review are included only if their ids are given.

    Example: [bold]symposia review sessions --tag support --newest 50 --model local[/bold]
    """
    from ...reviews.requests.files import HowToReviewSessions, request_for_sessions
    from .run_review import ReviewOptions, run_and_report

    how = cast("HowToReviewSessions", _given(options, HowToReviewSessions))
    wishes = ReviewOptions(**_given(options, ReviewOptions))
    run_and_report(lambda archive: request_for_sessions(ids or (), archive=archive, **how), wishes)


#: Options without a value that a request takes as empty lists.
_LISTS = ("include", "exclude", "deliver")


def _given(options: Mapping[str, Any], wanted: type) -> dict[str, Any]:
    """Return the options that are fields of a class."""
    from .run_review import ReviewOptions

    fields = {name: value for name, value in options.items() if name in wanted.__annotations__}
    if wanted is ReviewOptions:
        return fields
    return {name: value or () if name in _LISTS else value for name, value in fields.items()}
