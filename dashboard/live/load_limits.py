"""Limits of the load that many pages make: streams per browser, and reads that requests of the same time share.

A browser opens at most six connections to one host (HTTP/1.1), and a stream occupies one of them. With more
tabs than streams, the others poll. Many pages of one session cost one read.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

#: Maximum number of open streams of one browser.
MAX_PER_BROWSER = 3
#: Maximum number of open streams of the process.
MAX_STREAMS = 1_000
#: Seconds between the beginnings of two reads of the same key: requests of that time share the later one.
SHARED_S = 0.25
#: Number of times of reads from which old ones are dropped.
_MAX_TIMES = 500


class StreamSlots:
    """The open streams by browser."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    @contextmanager
    def slot(self, browser: str) -> Iterator[bool]:
        """Occupy a slot in the context; False: there is none, so the page must poll."""
        if self._open[browser] >= MAX_PER_BROWSER or self._open.total() >= MAX_STREAMS:
            yield False
            return
        self._open[browser] += 1
        try:
            yield True
        finally:
            self._open[browser] -= 1
            if not self._open[browser]:
                del self._open[browser]


class SharedReads:
    """Reads as text by key, of which requests of the same time share one. Only for one event loop.

    A request shares only a read that begins after it: its result holds every change that the page knows of.
    """

    def __init__(self) -> None:
        #: Key -> when its newest read began.
        self._began: dict[str, float] = {}
        #: Key -> a read that begins soon.
        self._next: dict[str, asyncio.Future[str]] = {}

    async def read(self, key: str, read: Callable[[], Awaitable[str]]) -> str:
        """Return the result of a read that begins now, or `SHARED_S` after the read before it.

        Args:
            key: What is read.
            read: Begins the read.

        Returns:
            The result. An exception of the read is raised for every request that shares it.
        """
        result = self._next.get(key)
        if result is None:
            result = self._next[key] = asyncio.ensure_future(self._read_next(key, read))
        # A request that is cancelled must not cancel the read of the others.
        return await asyncio.shield(result)

    async def _read_next(self, key: str, read: Callable[[], Awaitable[str]]) -> str:
        await asyncio.sleep(self._began.get(key, -SHARED_S) + SHARED_S - time.monotonic())
        del self._next[key]
        now = time.monotonic()
        if len(self._began) >= _MAX_TIMES:
            self._began = {
                other_key: began for other_key, began in self._began.items() if now - began < SHARED_S
            }
        self._began[key] = now
        return await read()
