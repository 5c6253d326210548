"""Files of a reviewed project that its models may read, as they were when the batch started.

Each read is recorded with a digest of the file, so that a later run knows what an answer depended on.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import zlib
from collections.abc import Mapping
from itertools import islice
from typing import cast

from redis import Redis
from redis.exceptions import RedisError

from ...models.errors import StateError
from ...state.redis.keys import review_key

log = logging.getLogger(__name__)

#: Number of files written at once.
_PAGE = 100


def file_digest(text: str | None) -> str:
    """Return the digest of a file; empty: it does not exist."""
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()


class ReadableFiles:
    """Files of batches in one Redis that decodes responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def add(self, batch_id: str, files: Mapping[str, str], *, ttl_s: int) -> None:
        """Store the text of files by path."""
        key = review_key(batch_id, "files")
        rest = iter(files.items())
        while some := list(islice(rest, _PAGE)):
            packed = {path: base64.b64encode(zlib.compress(text.encode())).decode() for path, text in some}
            with self._client.pipeline(transaction=True) as together:
                together.hset(key, mapping=packed)  # type: ignore[arg-type]
                together.expire(key, ttl_s)
                together.execute()

    def read(self, batch_id: str, number: int, path: str) -> str | None:
        """Return the text of a file for the item `number`, and record that; None: there is no such file."""
        files, reads = review_key(batch_id, "files"), review_key(batch_id, f"reads:{number}")
        packed = cast("str | None", self._client.hget(files, path))
        text = None if packed is None else zlib.decompress(base64.b64decode(packed)).decode()
        ttl_ms = self._client.pttl(files)
        if ttl_ms > 0:
            with self._client.pipeline(transaction=True) as together:
                together.hset(reads, path, file_digest(text))
                together.pexpire(reads, ttl_ms)
                together.execute()
        return text

    def reads(self, batch_id: str, number: int) -> dict[str, str]:
        """Return the digests of the files that were read for an item, by path."""
        return cast("dict[str, str]", self._client.hgetall(review_key(batch_id, f"reads:{number}")))


class StoredReviewFiles:
    """Files of reviewed projects: part of the turn services of agents. `client`: Redis that decodes responses."""

    def __init__(self, client: Redis) -> None:
        self._files = ReadableFiles(client)

    async def read_file(self, batch_id: str, item: int, path: str) -> str | None:
        """As in ReviewFilesPort; during a Redis outage no file can be read."""
        try:
            return await asyncio.to_thread(self._files.read, batch_id, item, path)
        except (RedisError, StateError) as error:
            log.warning("reading a file of review %s failed: %s", batch_id, error)
            return None
