"""Follower of one stream of a live session.

`Follower` decides what to read next; the blocking and the asyncio readers share it. It ends after
`MAPSessionCompleted`, which is the last event of every session and is written after its last message.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from math import inf
from typing import Any

from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.typing import KeyT, StreamIdT

from ...models.errors import ResultTimeout, SessionNotFound
from ..redis.keys import session_key
from ..redis.readers import END_MARK, PAGE, Entry, Stream, read_batches, read_entries

#: Milliseconds of one blocking read; shorter than the socket timeout.
BLOCK_MS = 2_000
#: Cursor of the events for a reader that needs only the end.
END_ONLY = "end"


class Follower:
    """Cursors of one reader of one stream, with the end of the session.

    Args:
        session_id: The session.
        stream: The name of the stream.
        after: Cursor to start after, or `END_ONLY`.
        newest: List with the newest event; empty: the session is a draft.
    """

    def __init__(self, session_id: str, stream: Stream, *, after: str, newest: list[Entry]) -> None:
        at, text = newest[0] if newest else ("0", "")
        self.done = False
        self._session_id = session_id
        self._stream = stream
        self._ended = END_MARK in text
        self._cursors: dict[Stream, str] = {"events": at, stream: at if after == END_ONLY else after}

    def positions(self) -> dict[KeyT, StreamIdT]:
        """Return the streams of XREAD: key -> cursor."""
        return {session_key(self._session_id, stream): at for stream, at in self._cursors.items()}

    def block_ms(self, left_s: float = inf) -> int | None:
        """Return the maximum milliseconds of the next read; None: do not wait, nothing more will be written."""
        return None if self._ended else max(1, int(min(BLOCK_MS, left_s * 1000)))

    def feed(self, answer: Any) -> list[Entry]:
        """Process one XREAD answer; return the new entries of the followed stream."""
        batches = read_batches(answer)
        found: dict[Stream, list[Entry]] = {}
        for stream in self._cursors:
            entries = batches.get(session_key(self._session_id, stream), [])
            if entries:
                self._cursors[stream] = entries[-1][0]
            found[stream] = entries
        # Only a read that starts after the end is known is certain to return the last entry.
        self.done = self._ended and len(found[self._stream]) < PAGE
        self._ended = self._ended or any(END_MARK in text for _, text in found["events"])
        return found[self._stream]


def follow(
    client: Redis,
    session_id: str,
    stream: Stream,
    *,
    after: str = "0",
    timeout_s: float | None = None,
    waiting: Callable[[], object] = lambda: None,
) -> Iterator[Entry]:
    """Yield (cursor, JSON) pairs after a cursor, as they arrive, until the session has ended.

    `waiting` is called before each read of a session that has not ended.

    Raises:
        SessionNotFound: The session does not exist or has expired.
        ResultTimeout: The session did not end within `timeout_s` seconds.
    """
    deadline = inf if timeout_s is None else time.monotonic() + timeout_s
    newest = read_entries(client.xrevrange(session_key(session_id, "events"), count=1))
    if not newest and not client.exists(session_key(session_id, "session")):
        raise SessionNotFound(session_id)
    follower = Follower(session_id, stream, after=after, newest=newest)
    while True:
        block_ms = follower.block_ms(deadline - time.monotonic())
        if block_ms is not None:
            waiting()
        entries = follower.feed(client.xread(follower.positions(), count=PAGE, block=block_ms))
        yield from entries
        if follower.done:
            return
        if not entries and not client.exists(session_key(session_id, "session")):
            raise SessionNotFound(session_id)
        if time.monotonic() >= deadline:
            raise ResultTimeout(session_id, timeout_s=timeout_s or 0)


async def _no_wait() -> None:
    pass


async def afollow(
    client: AsyncRedis,
    session_id: str,
    stream: Stream,
    *,
    after: str = "0",
    waiting: Callable[[], Awaitable[object]] = _no_wait,
) -> AsyncIterator[Entry]:
    """Yield the same as `follow`, for asyncio. It has no timeout parameter: use `asyncio.timeout`."""
    newest = read_entries(await client.xrevrange(session_key(session_id, "events"), count=1))
    if not newest and not await client.exists(session_key(session_id, "session")):
        raise SessionNotFound(session_id)
    follower = Follower(session_id, stream, after=after, newest=newest)
    while True:
        block_ms = follower.block_ms()
        if block_ms is not None:
            await waiting()
        entries = follower.feed(await client.xread(follower.positions(), count=PAGE, block=block_ms))
        for entry in entries:
            yield entry
        if follower.done:
            return
        if not entries and not await client.exists(session_key(session_id, "session")):
            raise SessionNotFound(session_id)
