"""Title of a forked process in the process list, which would show that of its parent (Linux)."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

from ...config.environment import replace_environment

#: Positions in `/proc/self/stat` after the name: bounds of the arguments and of the environment of the process.
_BOUNDS = (45, 46, 47, 48)


def set_process_title(title: str) -> None:
    """Overwrite the arguments of this process, as setproctitle does; the end of a title that is too long is cut."""
    with suppress(OSError):  # the short name, by which a command such as `killall` finds a process
        Path("/proc/self/comm").write_text(Path(sys.executable).name, encoding="utf-8")
    # A title that is longer than the arguments overwrites the first variables, too. So the C library gets copies of them.
    replace_environment()
    with suppress(OSError, ValueError, IndexError):
        fields = (
            Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
        start, end, env_start, env_end = (int(fields[at]) for at in _BOUNDS)
        if start < end <= env_start < env_end:
            room = (env_end if end == env_start else end) - start
            # The kernel shows the text up to its first zero if the arguments do not end with a zero.
            text = os.fsencode(title)[: room - 1] + b"\0"
            ctypes.memmove(start, text.ljust(end - start, b"\0"), max(len(text), end - start))
