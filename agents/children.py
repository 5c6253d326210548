"""What a child process is given before its program starts: bounds, and an end when its parent ends.

Both are `preexec_fn`s: they run between fork and exec, where nothing may be allocated or imported.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping

_PR_SET_PDEATHSIG = 1


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


def bounded(limits: Mapping[int, int]) -> Callable[[], None]:
    """A `preexec_fn` that sets resource limits (`resource.RLIMIT_...` -> value) and dies with its parent."""
    wanted = []
    for kind, value in {**limits, resource.RLIMIT_CORE: 0}.items():
        _, most = resource.getrlimit(kind)
        # Of processor time one second more: at the soft bound SIGXCPU says why it ends, at the hard one it is killed.
        bounds = (value, value + (kind == resource.RLIMIT_CPU))
        wanted.append((kind, bounds if most == resource.RLIM_INFINITY else _within(bounds, most)))
    setrlimit, die = resource.setrlimit, dying_with_parent(signal.SIGKILL)

    def bound() -> None:
        for kind, bounds in wanted:
            setrlimit(kind, bounds)
        if die is not None:
            die()

    return bound


def _within(bounds: tuple[int, int], most: int) -> tuple[int, int]:
    soft, hard = bounds
    return min(soft, most), min(hard, most)
