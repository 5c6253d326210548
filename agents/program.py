"""Runs a program: in a process group of its own, fed and read until it ends, and nothing of it outlives the call."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: Bytes of standard error that are kept to tell why a program failed.
KEPT_BYTES = 4_096
#: Seconds that the pipes of a killed process group may take to close.
_CLOSING_S = 5.0
_LOOK_EVERY_S = 0.05
_READ_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Program:
    """What is to be run."""

    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    #: Runs in the child before the program does.
    before: Callable[[], None]
    #: Bytes it may print; at one more it is killed.
    limit_bytes: int


@dataclass(frozen=True, slots=True)
class Printed:
    """What a program left behind."""

    #: Its exit code; of one that a signal ended, that signal's number below zero.
    code: int
    out: bytes
    #: The last of what it complained about.
    err: bytes
    too_much: bool


async def run(program: Program, given: bytes) -> Printed:
    """Runs it with `given` on its standard input. Cancelled, it kills the whole group first.

    Raises:
        OSError: it cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *program.argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=program.folder,
        env=program.environment,
        start_new_session=True,
        preexec_fn=program.before,
    )
    try:
        return await _communicate(process, given, limit_bytes=program.limit_bytes)
    finally:
        if process.returncode is None:
            _kill_group(process.pid)
            await _ended(process)


async def _communicate(process: asyncio.subprocess.Process, given: bytes, *, limit_bytes: int) -> Printed:
    out, err = _Cap(limit_bytes), _Cap(KEPT_BYTES, keep_last=True)
    pipes = asyncio.gather(
        _feed(process.stdin, given),
        out.read(process.stdout, on_full=lambda: _kill_group(process.pid)),
        err.read(process.stderr),
    )
    try:
        code = await _ended(process)
        # What it has started ends with it.
        _kill_group(process.pid)
        # One that left the group may hold the pipes open for ever.
        with suppress(TimeoutError):
            await asyncio.wait_for(pipes, _CLOSING_S)
    finally:
        pipes.cancel()
        with suppress(asyncio.CancelledError):
            await pipes
    return Printed(code, bytes(out.kept), bytes(err.kept), out.is_full)


async def _ended(process: asyncio.subprocess.Process) -> int:
    """The exit code, as soon as the program itself has ended."""
    waiting = asyncio.ensure_future(process.wait())
    try:
        # Before Python 3.12.4 `wait` also waits for the pipes, which a child of the program may hold open.
        while process.returncode is None:
            await asyncio.wait({waiting}, timeout=_LOOK_EVERY_S)
        return process.returncode
    finally:
        waiting.cancel()


class _Cap:
    """Reads a pipe to its end and keeps so many bytes of it: the first, or the last."""

    def __init__(self, limit: int, *, keep_last: bool = False) -> None:
        self.kept = bytearray()
        self.is_full = False
        self._limit = limit
        self._keep_last = keep_last

    async def read(
        self, pipe: asyncio.StreamReader | None, *, on_full: Callable[[], None] = lambda: None
    ) -> None:
        while pipe is not None and (data := await pipe.read(_READ_BYTES)):
            self.kept += data
            if len(self.kept) <= self._limit:
                continue
            self.kept = self.kept[-self._limit :] if self._keep_last else self.kept[: self._limit]
            if not self.is_full:
                self.is_full = True
                on_full()


async def _feed(pipe: asyncio.StreamWriter | None, data: bytes) -> None:
    """A program need not read what it is given."""
    if pipe is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):
        pipe.write(data)
        await pipe.drain()
    pipe.close()


def _kill_group(leader: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
