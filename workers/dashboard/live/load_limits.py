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
#: Seconds for which the result of a read serves further requests.
SHARED_S = 0.25
#: Number of results of reads from which old ones are dropped.
_MOST_RESULTS = 500


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
    """Results of the newest reads, as text by key. Only for one event loop."""

    def __init__(self) -> None:
        self._reads: dict[str, tuple[float, asyncio.Future[str]]] = {}

    async def read(self, key: str, read: Callable[[], Awaitable[str]]) -> str:
        """Return the result of a read that began lately, or else of a new one.

        Args:
            key: What is read.
            read: Begins the read.

        Returns:
            The result. An exception of the read is raised for every request that shares it.
        """
        now = time.monotonic()
        began, result = self._reads.get(key, (-SHARED_S, None))
        if result is None or now - began >= SHARED_S:
            self._drop_old(now)
            result = asyncio.ensure_future(read())
            self._reads[key] = now, result
        # A request that is cancelled must not cancel the read of the others.
        return await asyncio.shield(result)

    def _drop_old(self, now: float) -> None:
        if len(self._reads) >= _MOST_RESULTS:
            self._reads = {key: it for key, it in self._reads.items() if now - it[0] < SHARED_S}
