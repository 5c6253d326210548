"""Exit codes of commands, and the one-line output of expected errors.

| code | means |
|---|---|
| 0 | done; the session completed |
| 1 | the session was cancelled or aborted; a replay differs from its record, or two sessions differ; an evaluation is below its threshold; a change of many sessions failed for some, or was not confirmed |
| 2 | bad input, or not allowed in this status |
| 3 | the session, review or schedule does not exist; the agent takes no part in the task or conversation |
| 4 | Redis, a worker or another part is missing |
| 5 | the review is incomplete: items were not reviewed, and no finding reached the gate |
| 130 | interrupted (see `main`) |
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum

import typer


class ExitCode(IntEnum):
    """Exit codes of all commands that are not interrupted."""

    DONE = 0
    CANCELLED = 1
    BAD_INPUT = 2
    NOT_FOUND = 3
    MISSING = 4
    INCOMPLETE = 5


def run_command_line(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run the command line. A defect of Symposia itself raises, with its traceback.

    Args:
        app: The commands.
        arguments: The command line without the program name.

    Returns:
        The exit code.
    """
    with _warnings_on_stderr():
        return _run_app(app, arguments, debug="--debug" in arguments)


def _run_app(app: typer.Typer, arguments: Sequence[str], *, debug: bool) -> int:
    try:
        code = app(args=list(arguments), prog_name="symposia", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reading process closed the pipe. The interpreter must not flush into it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    except Exception as error:
        if (blame := exit_code_of(error)) is None or debug:
            raise
        _print_error(error)
        return blame
    return int(code or 0)


def exit_code_of(error: Exception) -> ExitCode | None:
    """Return the exit code of an expected error; None for a defect."""
    from ...models import errors

    for code, kinds in (
        (ExitCode.NOT_FOUND, (errors.SessionNotFound, errors.ReviewNotFound, errors.ScheduleNotFound)),
        (ExitCode.NOT_FOUND, (errors.AttachmentUnavailable, errors.NotAMember, errors.NotTaskManager)),
        (ExitCode.BAD_INPUT, (errors.InvalidInput, errors.LifecycleError, errors.SessionConflict)),
        (ExitCode.BAD_INPUT, (errors.ReplyRefused, errors.RegistryError, errors.NotRestorable)),
        (ExitCode.BAD_INPUT, (errors.NotRecorded, errors.ConversationError)),
        (ExitCode.MISSING, (errors.StateError, errors.PartlySubmitted, errors.BrokerUnavailable)),
        (ExitCode.MISSING, (errors.UnsuitableQueue, errors.LocalModelError, errors.ArchiveError)),
        (ExitCode.MISSING, (errors.MissingPackage,)),
        (ExitCode.CANCELLED, (errors.SymposiaError,)),
        (ExitCode.BAD_INPUT, (typer.TyperException,)),
    ):
        if isinstance(error, kinds):
            return code
    return _missing(error)


def _missing(error: Exception) -> ExitCode | None:
    """Return MISSING if Redis or the broker failed during a command."""
    from kombu.exceptions import OperationalError
    from redis.exceptions import ConnectionError as RedisConnectionError
    from redis.exceptions import ResponseError
    from redis.exceptions import TimeoutError as RedisTimeoutError

    # ResponseError: the server is full, is a replica, or refuses this user.
    gone = (OperationalError, RedisConnectionError, RedisTimeoutError, ResponseError)
    return ExitCode.MISSING if isinstance(error, gone) else None


class _OnStderr(logging.Handler):
    """Handler that prints records on the current `sys.stderr`, which a progress line replaces temporarily."""

    def emit(self, record: logging.LogRecord) -> None:
        _print(record.getMessage())


@contextmanager
def _warnings_on_stderr() -> Iterator[None]:
    """Print warnings that the library logs like errors, while a command runs."""
    logger, handler = logging.getLogger("symposia"), _OnStderr(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _print_error(error: Exception) -> None:
    from ...models.errors import SymposiaError

    if isinstance(error, typer.TyperException) and hasattr(error, "show"):
        error.show()
        return
    prefix = (
        ""
        if isinstance(error, SymposiaError)
        else "Redis or the broker is unavailable or refused a command: "
    )
    _print(f"{prefix}{error}")


def _print(text: str) -> None:
    from ...models.text.redact import without_password

    line = without_password(" ".join(text.split()))
    print(f"symposia: {line}", file=sys.stderr)  # noqa: T201 - the one place that does
