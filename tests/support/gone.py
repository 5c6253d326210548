"""Whether a process has ended."""

from __future__ import annotations

import psutil


def is_gone(process: psutil.Process) -> bool:
    """True when it has ended, also where nobody has taken note of it yet."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
