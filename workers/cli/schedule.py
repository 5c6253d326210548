"""`symposia schedule`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import AsJson

if TYPE_CHECKING:
    from ...reviews.schedules import Schedules

Name = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.")]


class WhenBusy(StrEnum):
    """What happens to a time that is due while an earlier one is not done, by the names the models have."""

    SKIP = "skip"
    QUEUE = "queue"
    CANCEL = "cancel"


class WhenMissed(StrEnum):
    """What happens to times that nobody could see to, by the names the models have."""

    SKIP = "skip"
    ONCE = "once"


class Weight(StrEnum):
    """How much a finding matters, by the names the models have."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    group = typer.Typer(no_args_is_help=True, help="Reviews and jobs at set times.")
    for command in (add, list_all, pause, resume, remove, run_now, history):
        name = {list_all: "list", run_now: "run-now"}.get(command, command.__name__)
        group.command(name)(command)
    app.add_typer(group, name="schedule")


def add(  # noqa: PLR0913 - each is an option
    name: Name,
    cron: Annotated[
        str | None, typer.Option(help="When: minute hour day month weekday, or a word such as @daily.")
    ] = None,
    every: Annotated[str | None, typer.Option(help="When: a span such as 30s, 15m, 1h30m.")] = None,
    zone: Annotated[str, typer.Option("--tz", help="The time zone of the crontab.")] = "UTC",
    root: Annotated[
        str | None,
        typer.Option("--review", metavar="ROOT", help="Review this root of the workers' settings."),
    ] = None,
    sessions: Annotated[
        bool,
        typer.Option(
            "--review-sessions", help="Review archived sessions instead, such as by --panel document."
        ),
    ] = False,
    tag: Annotated[str | None, typer.Option(help="Only sessions with this tag.")] = None,
    participant: Annotated[
        str | None, typer.Option(help="Only sessions in which this one took part.")
    ] = None,
    newest: Annotated[int | None, typer.Option(help="At most so many sessions, the newest.")] = None,
    panel: Annotated[str, typer.Option(help="The panel that reviews it.")] = "code",
    model: Annotated[
        str | None, typer.Option(help="The agent in the panel's seats for a model; programs alone without.")
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option(help="Only files that this pattern fits; may be repeated.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="No files that this pattern fits; may be repeated.")
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="Review only what changed since the branch left this one.")
    ] = None,
    since_last: Annotated[
        bool, typer.Option("--since-last", help="Review only what changed since the last run that completed.")
    ] = False,
    formats: Annotated[
        list[str] | None, typer.Option("--format", help="Report in this format; may be repeated.")
    ] = None,
    deliver: Annotated[
        list[str] | None,
        typer.Option(help="Send the report there, as the settings name it; may be repeated."),
    ] = None,
    only_on_change: Annotated[
        bool, typer.Option("--only-on-change", help="Send it only when findings are new or gone.")
    ] = False,
    fail_on: Annotated[
        Weight | None, typer.Option(help="The outcome is `findings` when one matters as much as this.")
    ] = None,
    job: Annotated[
        str | None, typer.Option(help="Run this session file of the workers' settings (SYMPOSIA_JOBS).")
    ] = None,
    overlap: Annotated[
        WhenBusy, typer.Option(help="What is due while an earlier one is not done.")
    ] = WhenBusy.SKIP,
    missed: Annotated[
        WhenMissed, typer.Option(help="What nobody could see to while it was due.")
    ] = WhenMissed.SKIP,
    grace_s: Annotated[
        int, typer.Option("--grace", help="Seconds after which a time counts as missed.")
    ] = 60,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the place of the one of this name.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add a schedule. It takes effect at once, without a restart.

    Example: [bold]symposia schedule add nightly --cron "0 3 * * *" --tz Europe/Berlin --review app[/bold]
    """
    from .schedule_tables import shown
    from .screen import console, print_json

    review, which = None, {"tag": tag, "participant": participant, "newest": newest}
    sessions = sessions or any(it is not None for it in which.values())
    if root is not None or sessions:
        review = {
            "panel": panel,
            "root": root,
            "sessions": which if sessions else None,
            "model": model,
            "include": include or [],
            "exclude": exclude or [],
            "base": base,
            "since_last": since_last,
            "only_on_change": only_on_change,
            "formats": formats or ["markdown"],
            "deliver": deliver or [],
            "fail_on": fail_on and fail_on.value,
        }
    what: dict[str, Any] = {"review": review, "job": job, "grace_s": grace_s}
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
            f"{name}: {entry.schedule.what}, {entry.schedule.when}; next {shown(entry, entry.next_due)}"
        )


def list_all(as_json: AsJson = False) -> None:
    """List the schedules, with what is next and what came of the last.

    Example: [bold]symposia schedule list[/bold]
    """
    from .schedule_tables import schedule_table
    from .screen import console, print_json

    entries = _schedules().entries()
    if as_json:
        print_json([it.to_json() for it in entries])
    elif not entries:
        console().print("There are no schedules: symposia schedule add.")
    else:
        console().print(schedule_table(entries))


def pause(name: Name) -> None:
    """Let nothing be due until it is resumed. What runs goes on.

    Example: [bold]symposia schedule pause nightly[/bold]
    """
    _schedules().pause(name)


def resume(name: Name) -> None:
    """Let a schedule go on with its next time; what was due meanwhile is left out.

    Example: [bold]symposia schedule resume nightly[/bold]
    """
    from .schedule_tables import shown

    schedules = _schedules()
    schedules.resume(name)
    entry = schedules.get(name)
    typer.echo(f"{name}: next {shown(entry, entry.next_due)}")


def remove(name: Name) -> None:
    """Forget a schedule with its history. What runs goes on.

    Example: [bold]symposia schedule remove nightly[/bold]
    """
    _schedules().remove(name)


def run_now(name: Name, as_json: AsJson = False) -> None:
    """Run a schedule once more, beside its times, also while it pauses. Prints the occurrence's id.

    Example: [bold]symposia schedule run-now nightly[/bold]
    """
    from .screen import print_json

    occurrence = _schedules().run_now(name)
    if as_json:
        print_json({"schedule": name, "id": occurrence})
    else:
        typer.echo(occurrence)


def history(
    name: Name,
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=1_000, help="How many, at most.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show what came of a schedule's occurrences, newest first: outcome, duration, cost.

    Example: [bold]symposia schedule history nightly -n 5[/bold]
    """
    from ...reviews.schedules import record_json
    from .schedule_tables import history_table
    from .screen import console, print_json

    schedules = _schedules()
    records = schedules.history(name, count=count)
    if as_json:
        print_json([record_json(it) for it in records])
    elif not records:
        console().print("Nothing was due yet.")
    else:
        console().print(history_table(schedules.get(name), records))


def _schedules() -> Schedules:
    from ...client import Client
    from ...config.settings import load_settings

    return Client(load_settings()).schedules
