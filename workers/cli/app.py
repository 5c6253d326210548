"""The command line's commands, put together."""

from __future__ import annotations

import inspect
import shutil
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

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

#: Columns of help texts, also on a wider terminal.
HELP_WIDTH = 80


class _NarrowHelp(TyperGroup):
    """The root of all commands: help texts wrap at `HELP_WIDTH` columns."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> typer.Context:
        """As in TyperGroup. Typer has no setting for the width of its help but this variable."""
        if not args or {"-h", "--help"} & set(args):
            from typer import rich_utils

            rich_utils.MAX_WIDTH = min(HELP_WIDTH, shutil.get_terminal_size().columns)
        return super().make_context(info_name, args, *more, **extra)  # type: ignore[return-value]


app = typer.Typer(
    name="symposia",
    cls=_NarrowHelp,
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


def _join_lines(commands: typer.Typer) -> None:
    """Let the help texts of commands wrap anew: Typer keeps the line breaks of a docstring's later paragraphs."""
    for command in commands.registered_commands:
        paragraphs = (inspect.getdoc(command.callback) or "").split("\n\n")
        command.help = "\n\n".join(" ".join(it.split()) for it in paragraphs)
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _join_lines(group.typer_instance)


for panel, groups in PANELS.items():
    for group in groups:
        group.add_to(app)
    for command in app.registered_commands:
        command.rich_help_panel = command.rich_help_panel or panel
    for commands in app.registered_groups:
        commands.rich_help_panel = commands.rich_help_panel or panel

_join_lines(app)
