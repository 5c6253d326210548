"""Starts processes that die with the tests, whichever thread asks for them.

The kernel's parent-death signal belongs to the thread that forked; so one thread forks for all,
and it stays until the end.
"""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from symposia.client.processes import end_with_parent

T = TypeVar("T")
_NAME = "chaos-spawn"
_MIDWIFE = ThreadPoolExecutor(1, thread_name_prefix=_NAME)


def from_the_staying_thread(make: Callable[[], T]) -> T:
    """Calls `make`, which forks, from the thread that outlives all others; `make` may do so again."""
    if threading.current_thread().name.startswith(_NAME):
        return make()
    return _MIDWIFE.submit(make).result()


def spawn(command: Sequence[str | Path], *, log: Path, cwd: Path) -> subprocess.Popen[bytes]:
    """Start a process in its own group with its output in `log`; it is killed at the end of the tests."""

    def start() -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            return subprocess.Popen(
                end_with_parent([str(part) for part in command], signal.SIGKILL),
                cwd=cwd,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            )

    return from_the_staying_thread(start)
