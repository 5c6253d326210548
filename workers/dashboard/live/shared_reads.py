"""Reads that requests of the same time share: many pages of one session cost one read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

#: Seconds for which the result of a read serves further requests.
SHARED_S = 0.25
#: Number of results from which old ones are dropped.
_MOST = 500


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
        if len(self._reads) >= _MOST:
            self._reads = {key: it for key, it in self._reads.items() if now - it[0] < SHARED_S}
