"""Launcher between a parent and its program: sets resource limits, ties it to the parent, and executes it.

A script for `python -I -S`, with nothing but the standard library (see `children.launched`):

    launch.py PARENT SIGNAL [KIND=SOFT:HARD ...] -- PROGRAM [ARGUMENT ...]
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1
#: Exit codes as in a shell: found but not executable; not found.
_CANNOT_RUN, _NOT_FOUND = 126, 127
#: What Python ignores for itself, and its program would inherit.
_IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)


def main() -> None:
    """As the command line says; ends with 126 or 127 where there is no program to become."""
    split = sys.argv.index("--")
    parent, number, *limits = sys.argv[1:split]
    program = sys.argv[split + 1 :]
    for given in _IGNORED:
        signal.signal(given, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number))
        if os.getppid() != int(parent):  # it ended before the kernel was asked
            sys.exit(_CANNOT_RUN)
    for limit in limits:  # after the library above, which may not fit into them
        kind, soft, hard = (int(part) for part in limit.replace("=", ":").split(":"))
        resource.setrlimit(kind, (soft, hard))
    try:
        os.execvp(program[0], program)  # noqa: S606 - it is what a parent in this package asked for
    except OSError as error:
        sys.exit(_refused(program[0], error))


def _refused(name: str, error: OSError) -> int:
    sys.stderr.write(f"{name}: {error.strerror}\n")
    return _NOT_FOUND if isinstance(error, FileNotFoundError) else _CANNOT_RUN


if __name__ == "__main__":
    main()
