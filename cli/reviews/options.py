"""Options of the commands that start or show a review."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from ...models.gate import Gate
from ...reviews.reports.formats import ALL, formats
from ..common.options import AsJson, Exclude, Include, Participant, Tag, Verbose

#: Value of --fail-on with which no finding fails the run.
NEVER = "never"
#: Metavar of --fail-on.
_FAIL_ON = "<[new:]SEVERITY|new|unreviewed|never>"


def read_format(name: str) -> str:
    """Return the name of a report format, or `all`. Refuse any other."""
    return _read_choice(name, _format_names())


def read_document_format(name: str) -> str:
    """Return the name of a report format that is one document. Refuse any other."""
    return _read_choice(name, _document_format_names())


def read_fail_on(name: str) -> str:
    """Return a gate (`high`, `new:high`, `new`, `unreviewed`), or `never`. Refuse any other."""
    if name == NEVER:
        return name
    try:
        return str(Gate.parse(name))
    except ValueError as error:
        raise typer.BadParameter(f"{name!r} {error}, or {NEVER!r}.") from None


def chosen_config(config: Sequence[str] | None, *, no_config: bool) -> Sequence[str] | None:
    """Return the files of --config; empty with --no-config; None: those of the project. Refuse both together."""
    if config and no_config:
        raise typer.BadParameter("cannot be combined with --no-config.", param_hint="--config")
    return () if no_config else config


def _format_names() -> list[str]:
    return [*(form.name for form in formats()), ALL]


def _document_format_names() -> list[str]:
    return [form.name for form in formats() if form.render is not None]


def _metavar(names: Sequence[str]) -> str:
    return f"<{'|'.join(names)}>"


def _read_choice(name: str, choices: Sequence[str]) -> str:
    if name not in choices:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, choices))}.")
    return name


Config = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="File with settings of ruff or bandit, instead of the files of the reviewed project; may be repeated.",
        show_default="the project's own files",
    ),
]
NoConfig = Annotated[
    bool,
    typer.Option(
        "--no-config",
        help="Ignore the project's settings: ruff's default rules, and bandit from medium severity.",
    ),
]
Branch = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Branch that is recorded with the run.", show_default="the checked-out branch"
    ),
]
Against = Annotated[
    str,
    typer.Option(
        metavar="BRANCH",
        help="Findings are new compared with the last runs of this branch; `last` means of any branch.",
    ),
]
Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        parser=read_format,
        metavar=_metavar(_format_names()),
        help="Report format; may be repeated. Without --output, only one is allowed, and the report is printed.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Folder for the reports; without --format, all formats are written."),
]
DocumentFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        parser=read_document_format,
        metavar=_metavar(_document_format_names()),
        help="Print the report in this format.",
    ),
]
FailOnOption = Annotated[
    str,
    typer.Option(
        "--fail-on",
        parser=read_fail_on,
        metavar=_FAIL_ON,
        help="Exit with code 1 if an open finding has this severity (info, low, medium, high, critical) or higher; "
        "new:SEVERITY counts only new findings, new is new:low. With unreviewed, or SEVERITY,unreviewed, exit with code 5 if a file was not reviewed.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        help="Agent for the model reviewers of the panel, such as local. Without it, those without an agent in the panel are skipped."
    ),
]
Everything = Annotated[
    bool,
    typer.Option("--all", help="Also review items that have not changed since this panel reviewed them."),
]
MaxTokens = Annotated[
    int | None, typer.Option(min=1, help="Token budget of the run.", show_default="limit of the panel")
]
MaxUsd = Annotated[
    float | None,
    typer.Option(min=1e-6, help="Cost budget of the run in US dollars.", show_default="limit of the panel"),
]
Parallel = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=64,
        help="Maximum number of items reviewed at the same time.",
        show_default="limit of the panel",
    ),
]
BatchApi = Annotated[
    bool | None,
    typer.Option(
        "--batch/--no-batch",
        help="Ask models through the batch APIs of their providers: half the price, and answers within a day.",
        show_default="setting of the panel",
    ),
]
KnownFindings = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        help="File of known findings, made by --write-baseline. Known findings do not fail the run.",
    ),
]
WriteBaseline = Annotated[
    Path | None,
    typer.Option("--write-baseline", help="Write the findings of this run to this file, as known findings."),
]
Deliver = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="Deliver the report to this destination of the deliveries file; may be repeated."
    ),
]
PullRequest = Annotated[
    int | None,
    typer.Option(
        "--pull-request",
        "--merge-request",
        metavar="N",
        min=1,
        help="Number of the pull or merge request that gets the comments of deliveries to code hosts.",
        show_default="that of the CI job",
    ),
]
MinConfidence = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        help="Drop findings with less confidence than this, from 0 to 1.",
        show_default="limit of the panel",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Print the number of sessions, tokens and the expected cost of each item. Nothing is started or sent.",
    ),
]
Panel = Annotated[
    str, typer.Option(help="Panel that reviews: code, document, pair, or a panel of panels.toml.")
]
Since = Annotated[
    str | None,
    typer.Option(
        metavar="REV",
        help="Review only changes since this git revision; `last` means since the last completed run.",
    ),
]
Base = Annotated[
    str | None,
    typer.Option(metavar="BRANCH", help="Review only changes since the merge base of HEAD and this branch."),
]
RootName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Name that identifies the reviewed folder in later runs, even if its path has changed.",
        show_default="the path of the folder",
    ),
]
Newest = Annotated[
    int | None,
    typer.Option(min=1, max=5_000, help="Maximum number of sessions, newest first.", show_default="5000"),
]
RepositoryUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Address of the repository, for links to lines in reports.",
        show_default="the git remote origin",
    ),
]

#: Option of a command: its type with the text of its help, and its default.
Option = tuple[Any, Any]
#: Options of every review, in a command or a schedule: what is reviewed, by whom, within which limits.
OF_ANY_REVIEW: Mapping[str, Option] = {
    "model": (Model, None),
    "everything": (Everything, False),
    "max_tokens": (MaxTokens, None),
    "max_usd": (MaxUsd, None),
    "parallel": (Parallel, None),
    "batch_api": (BatchApi, None),
    "min_confidence": (MinConfidence, None),
}
#: Options of a review of files, in a command or a schedule.
OF_FILES: Mapping[str, Option] = {
    "since": (Since, None),
    "base": (Base, None),
    "include": (Include, None),
    "exclude": (Exclude, None),
    "root_name": (RootName, None),
    "config": (Config, None),
    "no_config": (NoConfig, False),
    "branch": (Branch, None),
    "against": (Against, "last"),
    "repository_url": (RepositoryUrl, None),
    "pull_request": (PullRequest, None),
}
#: Options of a review of archived sessions, in a command or a schedule.
OF_SESSIONS: Mapping[str, Option] = {
    "tag": (Tag, None),
    "participant": (Participant, None),
    "newest": (Newest, None),
}
#: Options of a command that runs a review: its reports and exit code.
OF_COMMANDS: Mapping[str, Option] = {
    "dry_run": (DryRun, False),
    "formats": (Formats, None),
    "output": (Output, None),
    "fail_on": (FailOnOption, "low"),
    "baseline": (KnownFindings, None),
    "write_baseline": (WriteBaseline, None),
    "deliver": (Deliver, None),
    "verbose": (Verbose, False),
    "as_json": (AsJson, False),
}


def with_options(*tables: Mapping[str, Option]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds options to a command, which gets their values as further keyword arguments."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(**given: Any) -> None:
            function(**given)

        signature = inspect.signature(function, eval_str=True)
        own = [
            part for part in signature.parameters.values() if part.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for table in tables
            for name, (kind, default) in table.items()
        ]
        parameters = [part.replace(kind=inspect.Parameter.KEYWORD_ONLY) for part in own] + more
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {part.name: part.annotation for part in parameters}
        return command

    return decorate
