"""Following a session live: what to read next, decided without doing the reading.

The same `Follower` serves the blocking and the asyncio readers. It ends when
`MAPSessionCompleted` has been seen, which is the last event of every session and is written
after its last message.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.typing import KeyT, StreamIdT

from ..models.errors import ResultTimeout, SessionNotFound
from .keys import session_key
from .streams import PAGE, Entry, Stream, read_batches, read_entries

#: One blocking read; shorter than the socket timeout.
BLOCK_MS = 2_000
#: As a cursor of the events: nothing but the end matters.
END_ONLY = "end"
_END = '"MAPSessionCompleted"'


class Follower:
    """The cursors of one reader of one stream, and whether it has seen all there will be."""

    def __init__(self, session_id: str, stream: Stream, *, after: str, events_after: str) -> None:
        self.session_id = session_id
        self.done = False
        self._stream = stream
        self._cursors: dict[Stream, str] = {"events": events_after, stream: after}
        self._ended = False

    def positions(self) -> dict[KeyT, StreamIdT]:
        """XREAD's streams: key -> cursor."""
        return {session_key(self.session_id, stream): at for stream, at in self._cursors.items()}

    def feed(self, answer: Any) -> list[Entry]:
        """Takes one XREAD answer; gives back the new entries of the followed stream."""
        batches = read_batches(answer)
        found: dict[Stream, list[Entry]] = {}
        for stream in self._cursors:
            entries = batches.get(session_key(self.session_id, stream), [])
            if entries:
                self._cursors[stream] = entries[-1][0]
            found[stream] = entries
        self._ended = self._ended or any(_END in text for _, text in found["events"])
        self.done = self._ended and len(found[self._stream]) < PAGE
        return found[self._stream]


def _follower(session_id: str, stream: Stream, after: str, newest: list[Entry]) -> Follower:
    # From the newest event but one on, so that an ended session's last event is seen at once.
    newest_but_one = newest[1][0] if len(newest) > 1 else "0"
    if stream == "events":
        newest_but_one = after = newest_but_one if after == END_ONLY else after
    return Follower(session_id, stream, after=after, events_after=newest_but_one)


def follow(
    client: Redis, session_id: str, stream: Stream, *, after: str = "0", timeout_s: float | None = None
) -> Iterator[Entry]:
    """(cursor, JSON) pairs behind a cursor, as they come, until the session has ended.

    Raises:
        SessionNotFound: there is no such session (any more).
        ResultTimeout: it did not end within `timeout_s` seconds.
    """
    until = None if timeout_s is None else time.monotonic() + timeout_s
    newest = read_entries(client.xrevrange(session_key(session_id, "events"), count=2))
    follower = _follower(session_id, stream, after, newest)
    while not follower.done:
        left_s = BLOCK_MS / 1000 if until is None else until - time.monotonic()
        if left_s <= 0:
            raise ResultTimeout(session_id, timeout_s=timeout_s or 0)
        block_ms = max(1, min(BLOCK_MS, int(left_s * 1000)))
        entries = follower.feed(client.xread(follower.positions(), count=PAGE, block=block_ms))
        yield from entries
        if not entries and not client.exists(session_key(session_id, "session")):
            raise SessionNotFound(session_id)


async def afollow(
    client: AsyncRedis, session_id: str, stream: Stream, *, after: str = "0"
) -> AsyncIterator[Entry]:
    """The same for asyncio."""
    newest = read_entries(await client.xrevrange(session_key(session_id, "events"), count=2))
    follower = _follower(session_id, stream, after, newest)
    while not follower.done:
        entries = follower.feed(await client.xread(follower.positions(), count=PAGE, block=BLOCK_MS))
        for entry in entries:
            yield entry
        if not entries and not await client.exists(session_key(session_id, "session")):
            raise SessionNotFound(session_id)
