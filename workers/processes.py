"""Child processes that do not outlive their reason: ended on purpose, or with whoever started them."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def end(process: subprocess.Popen[bytes], *, timeout_s: float) -> None:
    """Ask the process to end, and kill it when it has not after `timeout_s` seconds."""
    process.terminate()
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def dying_with_parent(number: signal.Signals = signal.SIGTERM) -> Callable[[], None] | None:
    """A `preexec_fn` after which the kernel sends the child a signal when the thread that starts it ends.

    None where the system knows no such thing (it is Linux's). The thread counts, not the
    process: start such a child from one that stays.
    """
    if sys.platform != "linux":
        return None
    # Looked up here: between fork and exec the child may not allocate or import.
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def ask_for_signal() -> None:
        prctl(_PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # it died before the kernel was asked
            os._exit(1)

    return ask_for_signal


def free_port(host: str, *, preferred: int | None = None) -> int:
    """A port nobody listens on: `preferred` if it is free, else one the system chooses."""
    for port in (preferred, 0):
        if port is None:
            continue
        with socket.socket() as probe:
            # As servers do: a port whose last connections have just closed is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            chosen: int = probe.getsockname()[1]
            return chosen
    raise OSError(f"no free port on {host}")
