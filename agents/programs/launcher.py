"""Launcher between a parent and its program: sets resource limits, ties it to the parent, and executes it.

A script for `python -I -S` that uses only the standard library (started by `process.py`):

    launcher.py PARENT SIGNAL [KIND=SOFT:HARD ...] -- PROGRAM [ARGUMENT ...]
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1
#: Exit codes as in a shell: program found but not executable; program not found.
_CANNOT_RUN, _NOT_FOUND = 126, 127
#: Signals that Python ignores, and that the program would inherit as ignored.
_IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)


def main() -> None:
    """Set the limits and execute the program of the command line; exit with 126 or 127 if that fails."""
    split = sys.argv.index("--")
    parent, number, *limits = sys.argv[1:split]
    program = sys.argv[split + 1 :]
    for given in _IGNORED:
        signal.signal(given, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number))
        if os.getppid() != int(parent):  # the parent ended before prctl was called
            sys.exit(_CANNOT_RUN)
    for limit in limits:  # after loading libc, which may need more than the limits allow
        kind, soft, hard = (int(part) for part in limit.replace("=", ":").split(":"))
        resource.setrlimit(kind, (soft, hard))
    try:
        os.execvp(program[0], program)  # noqa: S606 - the command line comes from this package
    except OSError as error:
        sys.exit(_refused(program[0], error))


def _refused(name: str, error: OSError) -> int:
    sys.stderr.write(f"{name}: {error.strerror}\n")
    return _NOT_FOUND if isinstance(error, FileNotFoundError) else _CANNOT_RUN


if __name__ == "__main__":
    main()
