"""The command line: `symposia`.

A command line imports the module of its command, and commands import their dependencies when they run, so that
`symposia --help` and short commands are fast.
"""

from __future__ import annotations

import atexit
import gc
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from ..config.environment import disable_pydantic_plugins
from ..patches.redis_sdk_import import refuse_sdk_to_redis

#: Exit code of an interrupted command, as in a shell.
INTERRUPTED = 128 + signal.SIGINT
#: Exit code if a package is missing, as in `common/exit_codes.py`, which needs typer.
_MISSING = 4
#: New objects between two garbage collections; Python's default is 700. A command imports hundreds of modules, and
#: their objects are no garbage: scanning them takes a tenth of the processor time of a short command.
_COLLECT_AFTER = 300_000
#: Commands that read and start no process.
_READING = frozenset({"export", "graph", "inbox", "list", "memory", "search", "show", "tenant", "watch"})


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its code.

    Args:
        arguments: The command line without the program name; None: that of this process.
    """
    gc.set_threshold(_COLLECT_AFTER)
    # At its exit the interpreter scans all objects for garbage, which is of no use then and takes a fifth of the
    # processor time of a short command. It does not scan frozen objects.
    atexit.register(gc.freeze)
    refuse_sdk_to_redis()
    with _noted_interrupts() as interrupts:
        try:
            # Inside the `try`: most of the run time of `--help` is imports, so Ctrl-C often arrives here.
            from .app import build_app
            from .common.exit_codes import run_command_line

            given = sys.argv[1:] if arguments is None else list(arguments)
            if given and given[0] in _READING:
                disable_pydantic_plugins()
            code = run_command_line(build_app(given), given)
        except KeyboardInterrupt:
            code = INTERRUPTED
        except ModuleNotFoundError as error:
            code = _report_missing(error)
        except Exception:
            # During an import, an interrupt becomes another exception: in `__set_name__` a RuntimeError before
            # Python 3.12, while pydantic builds a model its SchemaError.
            if not interrupts:
                raise
            code = INTERRUPTED
    sys.exit(code)


def _report_missing(error: ModuleNotFoundError) -> int:
    """Print which extra a failed import needs, and return the exit code. Other failed imports raise again."""
    from ..models.extras import missing_package

    missing = missing_package(error, "this command")
    if missing is None:
        raise error
    print(f"symposia: {missing}", file=sys.stderr)  # noqa: T201 - the command line's own printer needs an extra
    return _MISSING


@contextmanager
def _noted_interrupts() -> Iterator[list[int]]:
    """Yield a list to which each SIGINT is added that Python turns into KeyboardInterrupt."""
    interrupts: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        signal.default_int_handler(number, frame)

    is_main = threading.current_thread() is threading.main_thread()
    # A shell lets background jobs ignore the signal, and only the main thread may set a handler.
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupts
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
