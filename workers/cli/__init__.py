"""The command line: `symposia`.

Commands import their dependencies when they run, so that `symposia --help` is fast.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

#: Exit code of an interrupted command, as in a shell.
INTERRUPTED = 128 + signal.SIGINT


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its code.

    Args:
        arguments: The command line without the program name; None: that of this process.
    """
    try:
        # Inside the `try`: most of the run time of `--help` is imports, so Ctrl-C often arrives here.
        from .app import app
        from .common.exit_codes import run_command_line

        code = run_command_line(app, sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except RuntimeError as error:
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        # Before Python 3.12 an exception in `__set_name__` during an import becomes a RuntimeError.
        code = INTERRUPTED
    sys.exit(code)
