"""Reads of many streams with one blocking XREAD, or in a cluster with one pipeline several times a second."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from ..redis.cluster import AsyncClusterClient
from ..redis.readers import Entry, is_wrong_type, read_batches

#: Milliseconds of one blocking read; a session that is found meanwhile is in the next one.
BLOCK_MS = 250
#: Seconds between two reads: changes of that time are read together.
_READ_INTERVAL_S = 0.02
#: Seconds between two reads in a cluster.
_CLUSTER_INTERVAL_S = 0.25
#: Seconds to wait when there is nothing to read.
_IDLE_S = 0.25
#: Maximum number of entries of one stream in one read.
MAX_ENTRIES = 100


class StreamReads:
    """Reader of streams. Keys that are not streams are left out, because they would fail the read of all others.

    Args:
        redis: The client.
        block_ms: Milliseconds of one blocking read.
    """

    def __init__(self, redis: Redis, *, block_ms: int = BLOCK_MS) -> None:
        self._redis: Any = redis
        self._block_ms = block_ms
        self._is_cluster = isinstance(self._redis, AsyncClusterClient)
        self._damaged: set[str] = set()

    def retry_damaged(self) -> None:
        """Read the keys again that were not streams."""
        self._damaged.clear()

    async def read(self, positions: Mapping[str, str]) -> dict[str, list[Entry]]:
        """Return the entries after the positions (by key), by key; wait a short time for them."""
        wanted = {key: at for key, at in positions.items() if key not in self._damaged}
        if not wanted:
            await asyncio.sleep(_IDLE_S)
            return {}
        await asyncio.sleep(_CLUSTER_INTERVAL_S if self._is_cluster else _READ_INTERVAL_S)
        if self._is_cluster:
            return await self._read_each(wanted)
        try:
            return read_batches(await self._redis.xread(wanted, count=MAX_ENTRIES, block=self._block_ms))
        except ResponseError as error:
            if not is_wrong_type(error):
                raise
            await self._leave_out_damaged(wanted)
            return {}

    async def _read_each(self, wanted: Mapping[str, str]) -> dict[str, list[Entry]]:
        pipeline = self._redis.pipeline()
        for key, at in wanted.items():
            pipeline.xread({key: at}, count=MAX_ENTRIES)
        batches: dict[str, list[Entry]] = {}
        for key, answer in zip(wanted, await pipeline.execute(raise_on_error=False), strict=True):
            if is_wrong_type(answer):
                self._damaged.add(key)
            elif isinstance(answer, Exception):
                raise answer
            else:
                batches |= read_batches(answer)
        return batches

    async def _leave_out_damaged(self, keys: Iterable[str]) -> None:
        names = list(keys)
        pipeline = self._redis.pipeline(transaction=False)
        for name in names:
            pipeline.type(name)
        kinds = zip(names, await pipeline.execute(), strict=True)
        self._damaged.update(name for name, kind in kinds if kind not in ("stream", "none"))
