"""The command line: `symposia`.

Commands import what they need when they run, so that `symposia --help` answers at once.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

#: Exit code of a command that was interrupted, as shells have it.
INTERRUPTED = 128 + signal.SIGINT


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and exits with its code; `arguments` are those of the process unless given."""
    try:
        # Ctrl-C may also strike here: most of the time that `--help` takes is spent on imports.
        from .app import app
        from .exits import guarded

        code = guarded(app, sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except RuntimeError as error:
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        # Before Python 3.12 that is what comes out of `__set_name__` while a module is imported.
        code = INTERRUPTED
    sys.exit(code)
