"""The state of a process that may end during the check."""

from __future__ import annotations

import psutil


def is_gone(process: psutil.Process) -> bool:
    """Return whether it has ended, even if it is a zombie."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def stands_still(pid: int) -> bool:
    """True when it is stopped, or has ended."""
    try:
        return psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def command_of(process: psutil.Process) -> list[str]:
    """Its command line; empty when it has ended by now."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []
