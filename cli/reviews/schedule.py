"""`symposia schedule`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common.options import AsJson, open_client
from ..common.screen import console, print_json
from .options import OF_ANY_REVIEW, OF_FILES, OF_SESSIONS, Panel, with_options

if TYPE_CHECKING:
    from ...schedules.schedules import Schedules

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the schedule.")]


class WhenBusy(StrEnum):
    """Policies for a run that is due while an earlier one runs, with the names of the models."""

    SKIP = "skip"
    QUEUE = "queue"
    CANCEL = "cancel"


class WhenMissed(StrEnum):
    """Policies for missed runs, with the names of the models."""

    SKIP = "skip"
    ONCE = "once"


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True, help="Run reviews and jobs at set times.")
    for command in (add, list_all, pause, resume, remove, run_now, history):
        name = {list_all: "list", run_now: "run-now"}.get(command, command.__name__)
        group.command(name)(command)
    app.add_typer(group, name="schedule")


@with_options({"panel": (Panel, "code")}, OF_SESSIONS, OF_FILES, OF_ANY_REVIEW)
def add(  # noqa: PLR0913 - each is an option
    name: Name,
    cron: Annotated[
        str | None,
        typer.Option(help="Cron expression: minute hour day month weekday, or a name such as @daily."),
    ] = None,
    every: Annotated[
        str | None, typer.Option(help="Interval between runs, such as 30s, 15m or 1h30m.")
    ] = None,
    zone: Annotated[str, typer.Option("--tz", help="Time zone of the cron expression.")] = "UTC",
    root: Annotated[
        str | None,
        typer.Option(
            "--review",
            metavar="ROOT",
            help="Review a folder: its name in SYMPOSIA_REVIEW_ROOTS of the workers.",
        ),
    ] = None,
    paths: Annotated[
        list[str] | None,
        typer.Option("--path", help="Review only this file or folder below the root; may be repeated."),
    ] = None,
    update: Annotated[
        bool,
        typer.Option(
            "--update", help="Fetch the checked-out branch from the remote origin before the review."
        ),
    ] = False,
    open_pull_requests: Annotated[
        str | None,
        typer.Option(
            "--open-pull-requests",
            "--open-merge-requests",
            metavar="DELIVERY",
            help="Review each open pull request of a code host whose newest commit is unreviewed, in a run of its own: the host is a delivery in deliveries.toml of the workers, the root a clone.",
        ),
    ] = None,
    sessions: Annotated[
        bool,
        typer.Option(
            "--review-sessions",
            help="Review archived sessions instead of a root, for example with --panel document.",
        ),
    ] = False,
    since_last: Annotated[bool, typer.Option("--since-last", help="The same as --since last.")] = False,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", help="Format of the report; may be repeated.", show_default="markdown"),
    ] = None,
    deliver: Annotated[
        list[str] | None,
        typer.Option(
            help="Destination of the report, a name in deliveries.toml of the workers; may be repeated."
        ),
    ] = None,
    only_on_change: Annotated[
        bool,
        typer.Option(
            "--only-on-change",
            help="Deliver the report only if findings appeared or disappeared since the previous run.",
        ),
    ] = False,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="<[new:]SEVERITY|new|unreviewed>",
            help="The outcome is `findings` if an open finding has this severity or higher; new:SEVERITY counts only new findings. With unreviewed, or SEVERITY,unreviewed, it is `partial` if a file was not reviewed. Default: findings do not matter.",
        ),
    ] = None,
    job: Annotated[
        str | None, typer.Option(help="Run a session file: its name in SYMPOSIA_JOBS of the workers.")
    ] = None,
    overlap: Annotated[
        WhenBusy,
        typer.Option(
            help="Policy if an earlier run has not finished: skip the new run, queue it, or cancel the earlier run."
        ),
    ] = WhenBusy.SKIP,
    missed: Annotated[
        WhenMissed, typer.Option(help="Policy for missed runs: skip all, or run the latest one once.")
    ] = WhenMissed.SKIP,
    grace: Annotated[
        str, typer.Option("--grace", help="Delay after which a run counts as missed: seconds, or 10m.")
    ] = "60",
    replace: Annotated[bool, typer.Option("--replace", help="Replace the schedule of this name.")] = False,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Add a schedule. It takes effect at once, without a restart.

    Requires exactly one of --cron and --every, and exactly one of --review, --review-sessions and --job.

    Example: [bold]symposia schedule add nightly --cron "0 3 * * *" --tz Europe/Berlin --review app[/bold]
    """
    from .output import format_time

    which = {option: options.pop(option) for option in OF_SESSIONS}
    sessions = sessions or any(value is not None for value in which.values())
    review = None
    if root is not None or sessions:
        own = {"formats": formats, "deliver": deliver, "only_on_change": only_on_change, "fail_on": fail_on}
        of_root = {"root": root, "paths": paths, "update": update, "open_pull_requests": open_pull_requests}
        review = _action({**options, **own, **of_root})
        review |= {"sessions": which} if sessions else {}
        if since_last:
            review["since_last"] = True
    what: dict[str, Any] = {"review": review, "job": job, "grace_s": grace}
    entry = _schedules().add(
        name,
        cron=cron,
        every=every,
        zone=zone,
        replace=replace,
        overlap=overlap.value,
        missed=missed.value,
        **what,
    )
    if as_json:
        print_json(entry.to_json())
    else:
        console().print(
            f"{name}: {entry.schedule.description}, {entry.schedule.when}; next run {format_time(entry, entry.next_due)}"
        )


def _action(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options as fields of a scheduled review; those with their default are left out."""
    last = "last"
    if options["since"] == last:
        options |= {"since": None, "since_last": True}
    if options["against"] == last:
        options["against"] = None
    return {
        name: value
        for name, value in options.items()
        if value not in (None, False, []) or (name == "batch_api" and value is False)  # of --no-batch
    }


def list_all(as_json: AsJson = False) -> None:
    """List schedules with their next run and last outcome.

    Example: [bold]symposia schedule list[/bold]
    """
    from .output import schedule_table

    entries = _schedules().entries()
    if as_json:
        print_json([entry.to_json() for entry in entries])
    elif not entries:
        console().print("No schedules. To add one: symposia schedule add")
    else:
        console().print(schedule_table(entries))


def pause(name: Name) -> None:
    """Pause a schedule until it is resumed. Running jobs continue.

    Example: [bold]symposia schedule pause nightly[/bold]
    """
    _schedules().pause(name)


def resume(name: Name) -> None:
    """Resume a schedule with its next run. Runs that were due during the pause are skipped.

    Example: [bold]symposia schedule resume nightly[/bold]
    """
    from .output import format_time

    schedules = _schedules()
    schedules.resume(name)
    entry = schedules.get(name)
    typer.echo(f"{name}: next run {format_time(entry, entry.next_due)}")


def remove(name: Name) -> None:
    """Delete a schedule and its history. Running jobs continue.

    Example: [bold]symposia schedule remove nightly[/bold]
    """
    _schedules().remove(name)


def run_now(name: Name, as_json: AsJson = False) -> None:
    """Run a schedule once now, in addition to its times, also while it is paused. Prints the id of the run.

    Example: [bold]symposia schedule run-now nightly[/bold]
    """
    run_id = _schedules().run_now(name)
    if as_json:
        print_json({"schedule": name, "id": run_id})
    else:
        typer.echo(run_id)


def history(
    name: Name,
    count: Annotated[
        int, typer.Option("--count", "-n", min=1, max=1_000, help="Maximum number of results.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the ended runs of a schedule, newest first: outcome, duration, cost.

    Example: [bold]symposia schedule history nightly -n 5[/bold]
    """
    from ...schedules.schedules import record_json
    from .output import active_runs, history_table

    schedules = _schedules()
    records = schedules.history(name, count=count)
    if as_json:
        print_json([record_json(record) for record in records])
        return
    entry = schedules.get(name)
    if records:
        console().print(history_table(entry, records))
    if now := active_runs(entry):
        console().print(f"Now: {now}.")
    elif not records:
        console().print("No runs yet.")


def _schedules() -> Schedules:
    return open_client().schedules
