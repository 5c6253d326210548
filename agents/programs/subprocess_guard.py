"""Start of child processes with resource limits, which end when their parent ends.

`preexec_fn` is not used: it runs Python in the fork of a process with threads, where a lock that another
thread held is held for ever, and the parent waits for the child. A small program in between
(`launch`) does the same after exec, and becomes the child's program: one process, one id.
"""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_LAUNCH = str(Path(__file__).with_name("launcher.py"))


def end_with_parent(argv: Sequence[str], number: signal.Signals = signal.SIGTERM) -> list[str]:
    """The command line of `argv` as a child of this process that gets a signal when the thread that starts it ends.

    The thread counts, not the process: start such a child from one that stays. Only Linux
    knows such a thing: elsewhere it is `argv`.

    Raises:
        FileNotFoundError: there is no such program.
    """
    if shutil.which(argv[0]) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
    return _launched(argv, number, ()) if sys.platform == "linux" else list(argv)


def with_limits(argv: Sequence[str], limits: Mapping[int, int]) -> list[str]:
    """The command line of `argv` under resource limits (`resource.RLIMIT_...` -> value); it dies with its parent."""
    wanted = []
    for kind, value in {**limits, resource.RLIMIT_CORE: 0}.items():
        _, most = resource.getrlimit(kind)
        # Of processor time one second more: at the soft bound SIGXCPU says why it ends, at the hard one it is killed.
        soft, hard = value, value + (kind == resource.RLIMIT_CPU)
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        wanted.append(f"{kind}={soft}:{hard}")
    return _launched(argv, signal.SIGKILL, wanted)


def _launched(argv: Sequence[str], number: signal.Signals, limits: Sequence[str]) -> list[str]:
    given = [str(os.getpid()), str(int(number)), *limits]
    return [sys.executable, "-I", "-S", _LAUNCH, *given, "--", *argv]
