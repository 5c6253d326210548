"""How a command ends: exit codes, and one line for every error that is somebody's to mend.

| code | means |
|---|---|
| 0 | done; the session completed |
| 1 | the session was cancelled or aborted |
| 2 | bad input, or not possible in this status |
| 3 | no such session or schedule, or no task or conversation that one takes part in |
| 4 | Redis, a worker or another part is missing |
| 130 | interrupted: see `main` |
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


def guarded(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Runs the command line; answers its exit code. A defect of Symposia itself raises, with its traceback."""
    with _warnings_on_stderr():
        return _guarded(app, arguments, debug="--debug" in arguments)


def _guarded(app: typer.Typer, arguments: Sequence[str], *, debug: bool) -> int:
    try:
        code = app(args=list(arguments), prog_name="symposia", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has seen enough; the interpreter must not flush into the void.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    except Exception as error:
        if (blame := exit_code_of(error)) is None or debug:
            raise
        _tell(error)
        return blame
    return int(code or 0)


def exit_code_of(error: Exception) -> ExitCode | None:
    """The exit code for an error that is told in one line; None for a defect."""
    from ...models import errors

    match error:
        case (
            errors.SessionNotFound()
            | errors.ReviewNotFound()
            | errors.ScheduleNotFound()
            | errors.NotAMember()
            | errors.NotTaskManager()
        ):
            return ExitCode.NOT_FOUND
        case (
            errors.InvalidInput()
            | errors.LifecycleError()
            | errors.SessionConflict()
            | errors.ReplyRefused()
            | errors.RegistryError()
            | errors.NotRestorable()
            | errors.ConversationError()
        ):
            return ExitCode.BAD_INPUT
        case (
            errors.StateError()
            | errors.BrokerUnavailable()
            | errors.LocalModelError()
            | errors.ArchiveError()
        ):
            return ExitCode.MISSING
        case errors.SymposiaError():
            return ExitCode.CANCELLED
        case typer.TyperException():
            return ExitCode.BAD_INPUT
        case _:
            return _missing(error)


def _missing(error: Exception) -> ExitCode | None:
    """Redis or the broker went away in the middle of something."""
    from kombu.exceptions import OperationalError
    from redis.exceptions import ConnectionError as RedisConnectionError
    from redis.exceptions import ResponseError
    from redis.exceptions import TimeoutError as RedisTimeoutError

    # ResponseError: it is full, or a replica, or refuses this user.
    gone = (OperationalError, RedisConnectionError, RedisTimeoutError, ResponseError)
    return ExitCode.MISSING if isinstance(error, gone) else None


class _OnStderr(logging.Handler):
    """Prints a record as a line on standard error as it is now: a line of progress takes its place for a while."""

    def emit(self, record: logging.LogRecord) -> None:
        _print(record.getMessage())


@contextmanager
def _warnings_on_stderr() -> Iterator[None]:
    """Warnings that the library logs are printed as errors are, while a command runs."""
    logger, handler = logging.getLogger("symposia"), _OnStderr(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _tell(error: Exception) -> None:
    from ...models.errors import SymposiaError

    if isinstance(error, typer.TyperException) and hasattr(error, "show"):
        error.show()
        return
    prefix = "" if isinstance(error, SymposiaError) else "Redis or the broker went away, or refuses: "
    _print(f"{prefix}{error}")


def _print(text: str) -> None:
    from ...models.shown import without_password

    line = without_password(" ".join(text.split()))
    print(f"symposia: {line}", file=sys.stderr)  # noqa: T201 - the one place that does
