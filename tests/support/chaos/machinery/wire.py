"""The network between a worker and its server: it can be cut, go silent, lose answers, or lead elsewhere."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import TypeVar, cast

from scaling import patient

T = TypeVar("T")
HOST = "127.0.0.1"


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One loop for all wires, on a thread that stays."""
    # Every command of every worker comes through here: waiting for the interpreter would be felt as a slow network.
    sys.setswitchinterval(0.0005)
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="chaos-wires", daemon=True).start()
    return loop


class Wire:
    """A port on loopback that leads to `upstream`."""

    def __init__(self, upstream: int) -> None:
        #: Port that new connections lead to.
        self.upstream = upstream
        #: Share of scripts whose answer is lost, after the server has acted.
        self.loses = 0.0
        self.lost = 0
        #: Connections that nobody took at the other end.
        self.refused = 0
        self.lines: set[_Line] = set()
        self.flows = asyncio.Event()
        self.flows.set()
        listening = _loop().create_server(lambda: _Near(_Line(self)), HOST, 0)
        self._server = asyncio.run_coroutine_threadsafe(listening, _loop()).result(patient(10))
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"redis://{HOST}:{self.port}/0"

    def cut(self) -> None:
        """Every connection breaks; new ones may be made at once."""
        _in_loop(self._cut)

    def silence(self) -> None:
        """Drop all data silently from now on."""
        _in_loop(self._silence)

    def mend(self) -> None:
        """All flows again; what was sent meanwhile arrives late."""
        _in_loop(self._mend)

    def close(self) -> None:
        """Close the listener and cut all connections."""
        _in_loop(self._server.close)
        self.cut()

    def _cut(self) -> None:
        for line in list(self.lines):
            line.cut()

    def _silence(self) -> None:
        self.flows.clear()
        for line in self.lines:
            line.pause()

    def _mend(self) -> None:
        self.loses = 0.0
        self.flows.set()
        for line in self.lines:
            line.resume()


def _in_loop(act: Callable[[], T]) -> T:
    async def acting() -> T:
        return act()

    return asyncio.run_coroutine_threadsafe(acting(), _loop()).result(patient(10))


class _Line:
    """One connection, from end to end."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.near: asyncio.Transport | None = None
        self.far: asyncio.Transport | None = None
        self._reaching: asyncio.Task[None] | None = None
        self._loses = False

    def opened(self, near: asyncio.Transport) -> None:
        self.near = near
        self.wire.lines.add(self)
        near.pause_reading()
        self._reaching = _loop().create_task(self._reach())

    async def _reach(self) -> None:
        await self.wire.flows.wait()
        try:
            await _loop().create_connection(lambda: _Far(self), HOST, self.wire.upstream)
        except OSError:
            self.wire.refused += 1
            self.cut()

    def reached(self, far: asyncio.Transport) -> None:
        self.far = far
        if self.near is None or self.near.is_closing():
            self.cut()
        elif self.wire.flows.is_set():
            self.near.resume_reading()

    def ask(self, data: bytes) -> None:
        if self.wire.loses and b"EVAL" in data and random.random() < self.wire.loses:
            self._loses = True
        if self.far is not None:
            self.far.write(data)

    def answer(self, data: bytes) -> None:
        if self._loses:
            self.wire.lost += 1
            self.cut()
        elif self.near is not None:
            self.near.write(data)

    def pause(self) -> None:
        for end in (self.near, self.far):
            if end is not None and not end.is_closing():
                end.pause_reading()

    def resume(self) -> None:
        if self.far is not None:
            for end in (self.near, self.far):
                if end is not None and not end.is_closing():
                    end.resume_reading()

    def cut(self) -> None:
        self.wire.lines.discard(self)
        for end in (self.near, self.far):
            if end is not None:
                end.abort()


class _Near(asyncio.Protocol):
    """The worker's end."""

    def __init__(self, line: _Line) -> None:
        self._line = line

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._line.opened(cast("asyncio.Transport", transport))

    def data_received(self, data: bytes) -> None:
        self._line.ask(data)

    def connection_lost(self, _error: Exception | None) -> None:
        self._line.cut()


class _Far(_Near):
    """The server's end."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._line.reached(cast("asyncio.Transport", transport))

    def data_received(self, data: bytes) -> None:
        self._line.answer(data)
