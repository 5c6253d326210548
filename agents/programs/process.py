"""Child processes with resource limits that end with their parent, and the run of a program for a turn.

A program of a turn runs in its own process group. The call writes its input, reads its output until the
program ends, and then kills the whole group.

`preexec_fn` is not used: it runs Python in the fork of a process with threads, where a lock that another
thread held is never released, and the parent waits for the child. Instead, `launcher.py` sets the limits
after exec and then executes the program in the same process, with the same process id.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import resource
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
#: Exit code of a fork whose parent ended first, as in `launcher.py`.
_CANNOT_RUN = 126


def hide_environment() -> None:
    """Hide environment and memory of this process from other processes of its user, such as programs of agents.

    They could read `/proc/PID/environ`, which holds the keys of all models. Only Linux supports this. Forked children
    inherit it; a program that is executed does not, and gets the variables that its entry names. The process then
    writes no core dump, and a debugger or profiler needs the capability CAP_SYS_PTRACE, which root has.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def end_this_with_parent(parent: int) -> None:
    """Let the kernel kill this fork when the thread that forked it ends (Linux only).

    Args:
        parent: Process id of that thread's process.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent ended before prctl was called
        os._exit(_CANNOT_RUN)


_LAUNCH = str(Path(__file__).with_name("launcher.py"))


def end_with_parent(argv: Sequence[str], number: signal.Signals = signal.SIGTERM) -> list[str]:
    """Return the command line of a child that gets a signal when the thread that starts it ends.

    The end of the thread counts, not that of the process: start such a child from a long-lived thread.
    Only Linux supports this; on other systems the result is `argv`.

    Args:
        argv: Program and arguments.
        number: The signal.

    Raises:
        FileNotFoundError: The program does not exist.
    """
    if shutil.which(argv[0]) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
    return _launched(argv, number, ()) if sys.platform == "linux" else list(argv)


def with_limits(argv: Sequence[str], limits: Mapping[int, int]) -> list[str]:
    """Return the command line of `argv` with resource limits; the child is killed when its parent ends.

    Args:
        argv: Program and arguments.
        limits: `resource.RLIMIT_...` -> value.
    """
    wanted = []
    for kind, value in {**limits, resource.RLIMIT_CORE: 0}.items():
        _, most = resource.getrlimit(kind)
        # The hard limit of CPU time is one second higher: SIGXCPU at the soft limit shows why the program
        # ended, and the kernel kills it at the hard limit.
        soft, hard = value, value + (kind == resource.RLIMIT_CPU)
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        wanted.append(f"{kind}={soft}:{hard}")
    return _launched(argv, signal.SIGKILL, wanted)


def _launched(argv: Sequence[str], number: signal.Signals, limits: Sequence[str]) -> list[str]:
    given = [str(os.getpid()), str(int(number)), *limits]
    return [sys.executable, "-I", "-S", _LAUNCH, *given, "--", *argv]


#: Maximum bytes of standard error kept for the error message of a failed program.
KEPT_BYTES = 4_096
#: Maximum seconds to wait for the pipes of an ended program to close: one of its children may hold them.
_CLOSING_S = 5.0
_STDIN, _STDOUT = 0, 1


@dataclass(frozen=True, slots=True)
class Program:
    """A program to run."""

    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    #: Resource limits (`resource.RLIMIT_...` -> value).
    limits: Mapping[int, int]
    #: Maximum bytes on standard output; the program is killed if it prints more.
    limit_bytes: int


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """Output and exit code of a program."""

    #: Exit code, or the negative number of the signal that ended the program.
    code: int
    out: bytes
    #: The last `KEPT_BYTES` bytes of standard error.
    err: bytes
    over_limit: bool


async def run_program(program: Program, given: bytes) -> ProgramResult:
    """Run the program with `given` on its standard input. If cancelled, kill the whole group first.

    If the program cannot be executed, the exit code is 126 or 127, as in a shell.

    Raises:
        OSError: The process cannot be started, or its folder cannot be entered.
    """
    transport, watch = await asyncio.get_running_loop().subprocess_exec(
        lambda: _OutputCollector(program.limit_bytes),
        *with_limits(program.argv, program.limits),
        cwd=program.folder,
        env=program.environment,
        start_new_session=True,
    )
    group = transport.get_pid()
    try:
        _feed(transport, given)
        await watch.has_ended.wait()
        # Kill the children of the program, too.
        _kill(group)
        with suppress(TimeoutError):
            await asyncio.wait_for(watch.is_over.wait(), _CLOSING_S)
        return ProgramResult(
            transport.get_returncode() or 0, bytes(watch.out), bytes(watch.err), watch.over_limit
        )
    finally:
        if not watch.has_ended.is_set():
            _kill(group)
        try:
            await _wait_uncancelled(watch.has_ended)
        finally:
            transport.close()
            await _wait_uncancelled(watch.is_over)


def _feed(transport: asyncio.SubprocessTransport, given: bytes) -> None:
    """Write the input. Input that the program does not read is discarded when the program ends."""
    stdin = cast("asyncio.WriteTransport", transport.get_pipe_transport(_STDIN))
    if given:
        stdin.write(given)
    stdin.write_eof()


def _kill(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


async def _wait_uncancelled(event: asyncio.Event) -> None:
    """Wait for an event that is about to be set, even if cancelled: a cancel must not skip the cleanup."""
    cancelled: asyncio.CancelledError | None = None
    while not event.is_set():
        try:
            await event.wait()
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


class _OutputCollector(asyncio.SubprocessProtocol):
    """Collector of a program's output, with events for the end of the program and of its pipes."""

    def __init__(self, limit_bytes: int) -> None:
        self.out = bytearray()
        self.err = bytearray()
        self.over_limit = False
        self.has_ended = asyncio.Event()
        self.is_over = asyncio.Event()
        self._limit_bytes = limit_bytes
        self._group = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._group = cast("asyncio.SubprocessTransport", transport).get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != _STDOUT:
            self.err = (self.err + data)[-KEPT_BYTES:]
        elif not self.over_limit:
            self.out += data
            self.over_limit = len(self.out) > self._limit_bytes
            if self.over_limit:
                _kill(self._group)

    def process_exited(self) -> None:
        self.has_ended.set()

    def connection_lost(self, _exc: Exception | None) -> None:
        self.is_over.set()
