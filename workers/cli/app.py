"""The command line's commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from . import (
    archive,
    callbacks,
    casting,
    conversation,
    demo,
    dialogue,
    doctor,
    inbox,
    lint,
    listing,
    look,
    memory,
    reply,
    review,
    run,
    schedule,
    serve,
    steer,
    task,
    tenant,
)

app = typer.Typer(
    name="symposia",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        "Exit codes: 0 completed, 1 the session was cancelled or aborted, 2 bad input or usage, 3 not found, "
        "4 Redis or a worker is missing, 130 interrupted."
    ),
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"symposia {version('symposia')}")
        raise typer.Exit


@app.callback()
def symposia(
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Multi-agent collaboration sessions on Celery workers.

    New here? [bold]symposia demo[/bold] runs a session in each of the five modes.
    """


PANELS = {
    "Run and follow sessions": (demo, run, listing, look),
    "Change a session while it runs": (steer, casting),
    "Take part, and see what is spent": (inbox, reply, tenant),
    "Review in batches, and do things at set times": (review, schedule),
    "Tasks, and the conversations inside them": (task, conversation),
    "What outlives a session": (memory, archive),
    "Alignment dialogues": (lint, dialogue),
    "Run and check what sessions need": (serve, callbacks, doctor),
}

for panel, groups in PANELS.items():
    for group in groups:
        group.add_to(app)
    for command in app.registered_commands:
        command.rich_help_panel = command.rich_help_panel or panel
    for commands in app.registered_groups:
        commands.rich_help_panel = commands.rich_help_panel or panel
