"""The network between a worker and its server: it can be cut, go silent, lose answers, or lead elsewhere."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")
HOST = "127.0.0.1"
_CHUNK = 1 << 16


@dataclass(eq=False)
class _Line:
    """One connection: both ends, and whether the next answer is to be lost."""

    near: asyncio.StreamWriter
    far: asyncio.StreamWriter
    loses: bool = False

    def cut(self) -> None:
        for end in (self.near, self.far):
            with suppress(OSError, RuntimeError):
                end.transport.abort()


class Wire:
    """A port on loopback that leads to `upstream`, on a thread of its own."""

    def __init__(self, upstream: int) -> None:
        #: Port that new connections lead to.
        self.upstream = upstream
        #: Share of scripts whose answer is lost, after the server has acted.
        self.loses = 0.0
        self.lost = 0
        #: Connections that nobody took at the other end.
        self.refused = 0
        self._lines: set[_Line] = set()
        self._tasks: set[asyncio.Task[Any] | None] = set()
        self._loop = asyncio.new_event_loop()
        self._flows = asyncio.Event()
        self._flows.set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="chaos-wire", daemon=True)
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._serve, HOST, 0))
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"redis://{HOST}:{self.port}/0"

    def cut(self) -> None:
        """Every connection breaks; new ones may be made at once."""
        self._run(self._cut())

    def silence(self) -> None:
        """Nothing comes through any more, and nobody is told."""
        self._loop.call_soon_threadsafe(self._flows.clear)

    def mend(self) -> None:
        """All flows again; what was sent meanwhile arrives late."""
        self.loses = 0.0
        self._loop.call_soon_threadsafe(self._flows.set)

    def close(self) -> None:
        """Cuts all and ends the thread."""
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _cut(self) -> None:
        for line in list(self._lines):
            line.cut()

    async def _close(self) -> None:
        self._server.close()
        self._flows.set()
        await self._cut()
        serving = [task for task in self._tasks if task is not None]
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, near: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            await self._flows.wait()
            answers, far = await self._reach()
            line = _Line(near, far)
            self._lines.add(line)
            try:
                await asyncio.gather(self._ask(reader, line), self._answer(answers, line))
            finally:
                line.cut()
                self._lines.discard(line)
        except (OSError, asyncio.CancelledError):
            near.transport.abort()
        finally:
            self._tasks.discard(task)

    async def _reach(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            return await asyncio.open_connection(HOST, self.upstream)
        except OSError:
            self.refused += 1
            raise

    async def _ask(self, reader: asyncio.StreamReader, line: _Line) -> None:
        while data := await reader.read(_CHUNK):
            await self._flows.wait()
            if self.loses and b"EVAL" in data and random.random() < self.loses:
                line.loses = True
            line.far.write(data)
            await line.far.drain()
        line.cut()

    async def _answer(self, reader: asyncio.StreamReader, line: _Line) -> None:
        while data := await reader.read(_CHUNK):
            await self._flows.wait()
            if line.loses:
                self.lost += 1
                break
            line.near.write(data)
            await line.near.drain()
        line.cut()
