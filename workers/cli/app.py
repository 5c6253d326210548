"""The Typer app with all commands."""

from __future__ import annotations

import inspect
import shutil
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from . import alignment
from .operations import archive, demo, doctor, memory, serve, tenant
from .reviews import review, schedule
from .sessions import inbox, run, steer
from .sessions import list as listing
from .sessions import show as look
from .workspace import conversation, task

#: Width of help texts in columns, also on a wider terminal.
HELP_WIDTH = 80


class _NarrowHelp(TyperGroup):
    """Root group of all commands; its help texts wrap at `HELP_WIDTH` columns."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> typer.Context:
        """Set the help width, and return the context of TyperGroup.

        Typer reads the width only from this variable.
        """
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
        "Exit codes: 0 success, 1 the session was cancelled or aborted, or review or lint found problems, "
        "2 bad input or usage, 3 not found, 4 Redis, a worker or another part is missing, 130 interrupted."
    ),
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"symposia {version('symposia')}")
        raise typer.Exit


@app.callback()
def symposia(
    debug: Annotated[bool, typer.Option("--debug", help="Show the full traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Multi-agent collaboration sessions on Celery workers.

    To start, run [bold]symposia demo[/bold]: it runs one session in each of the five modes.
    """


PANELS = {
    "Run and follow sessions": (
        demo.add_to,
        run.add_to,
        listing.add_to,
        look.add_to,
    ),
    "Control running sessions": (
        steer.add_to,
        steer.add_roster_commands,
    ),
    "Human answers and usage": (
        inbox.add_to,
        inbox.add_reply_command,
        tenant.add_to,
    ),
    "Reviews and schedules": (
        review.add_to,
        schedule.add_to,
    ),
    "Tasks and conversations": (
        task.add_to,
        conversation.add_to,
    ),
    "Archive and memory": (
        memory.add_to,
        archive.add_to,
    ),
    "Alignment documents": (
        alignment.add_lint_command,
        alignment.add_dialogue_command,
    ),
    "Operations": (
        serve.add_to,
        serve.add_callbacks_command,
        doctor.add_to,
    ),
}


def _join_lines(commands: typer.Typer) -> None:
    """Join the lines of each help paragraph, so that they wrap at the help width.

    Typer keeps the line breaks of docstrings.
    """
    for command in commands.registered_commands:
        paragraphs = (inspect.getdoc(command.callback) or "").split("\n\n")
        command.help = "\n\n".join(" ".join(it.split()) for it in paragraphs)
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _join_lines(group.typer_instance)


for panel, adders in PANELS.items():
    for add_commands in adders:
        add_commands(app)
    for command in app.registered_commands:
        command.rich_help_panel = command.rich_help_panel or panel
    for commands in app.registered_groups:
        commands.rich_help_panel = commands.rich_help_panel or panel

_join_lines(app)
