"""Programs of Celery's worker and beat and of Flower, with only the needed part of Celery's command line.

    python -m symposia.workers worker [OPTION ...]    # as celery -A symposia.workers worker
    python -m symposia.workers beat [OPTION ...]
    python -m symposia.workers flower [OPTION ...]

Celery's own command line first imports all its commands and plugins, for example an interactive shell and
Flower. That takes a quarter of the start time of a worker, and 14 MB of memory. Two kinds of options are left out: those before
the command, because the settings replace them, and `--detach`, which would start Celery's own command line.
"""

from __future__ import annotations

import copy
import gc
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click
    from celery import Celery


def find_app() -> Celery:
    """Return the Celery app; this reads the settings."""
    from .app import app

    return app


def run(find_app: Callable[[], Celery], arguments: Sequence[str]) -> None:
    """Run `worker`, `beat` or `flower` with Celery's options, then end the process with its exit code.

    Args:
        find_app: Function that returns the app; its imports are part of the start.
        arguments: Arguments of the command line, without the name of the program.
    """
    # Imported objects are no garbage: scanning them takes a tenth of the start time, and again that time at
    # each full collection.
    gc.disable()
    import celery
    import click

    with suppress(IndexError):  # an option without a value; click reports it below
        celery.maybe_patch_concurrency(list(arguments))
    from celery.bin.base import CLIContext
    from celery.bin.beat import beat
    from celery.bin.worker import worker

    from ..models.errors import SymposiaError
    from ..models.extras import check_installed, is_installed

    commands = [_without_detach(command) for command in (worker, beat)]
    if arguments[:1] == ["flower"] and is_installed("flower"):
        from flower.command import flower

        commands.append(flower)

    @click.group(commands={command.name: command for command in commands})
    @click.option("--no-color", "-C", envvar="NO_COLOR", is_flag=True, help="Do not use colours in the log.")
    @click.option("--quiet", "-q", is_flag=True, help="Do not print the banner.")
    @click.pass_context
    def program(context: click.Context, no_color: bool, quiet: bool) -> None:
        """Run a Celery worker, a beat or Flower with this app."""
        try:
            if context.invoked_subcommand == beat.name:
                check_installed("redbeat", "a beat")  # Celery would log the error with a traceback
            app = find_app()
        except SymposiaError as error:
            context.fail(str(error))
        context.obj = CLIContext(app=app, no_color=no_color, workdir=None, quiet=quiet)
        gc.freeze()
        gc.enable()

    program(list(arguments), prog_name="python -m symposia.workers", auto_envvar_prefix="CELERY")


def _without_detach(command: click.Command) -> click.Command:
    command = copy.copy(command)
    command.params = [param for param in command.params if param.name != "detach"]
    return command


if __name__ == "__main__":
    # A worker that restarts itself (SIGHUP) runs `python` with these arguments.
    sys.argv[:1] = ["-m", "symposia.workers"]
    run(find_app, sys.argv[2:])
