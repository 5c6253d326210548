"""Streams of single sessions: pages of their entries, and readers that share the XREAD of the hub.

A page has the oldest entry first, with a position in each stream.

A reader gets a bounded queue. When it is full, the reader is ended, and its page continues from its position: so
a slow page costs no memory.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Any, NamedTuple, cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from ...models.errors import SessionNotFound, StateError
from ...models.text.ids import entry_key
from ...state.redis.keys import session_key
from ...state.redis.readers import Entry, read_batches
from ...state.turns.deltas import LISTENING_EVERY_S, LISTENING_MS
from .positions import PARTS, Part, Positions

#: Maximum number of entries of each stream in one page.
MAX_ENTRIES = 200


class StreamEntry(NamedTuple):
    """An entry of a session's stream."""

    position: str
    part: Part
    #: The record as JSON.
    text: str


class EntryPage(NamedTuple):
    """Entries of all streams of a session."""

    entries: list[StreamEntry]
    #: Where the next page starts.
    after: Positions
    #: Whether the streams had no more entries.
    is_last: bool


async def read_page(redis: Redis, session_id: str, after: Positions) -> EntryPage:
    """Return the entries after some positions, up to `MAX_ENTRIES` of each stream.

    If a stream has more, entries of other streams that are newer than its last one come with a later page.

    Args:
        redis: The client.
        session_id: The session.
        after: The positions.
    """
    keys = {session_key(session_id, part): part for part in PARTS}
    client: Any = redis
    # One command, so that no entry is added between the reads of two streams.
    answer = await client.xread({key: after[part] for key, part in keys.items()}, count=MAX_ENTRIES)
    batches = read_batches(answer)
    stream_entries = [
        StreamEntry(position, keys[key], text)
        for key, entries in batches.items()
        for position, text in entries
    ]
    stream_entries.sort(key=lambda entry: entry_key(entry.position))
    ends = [entry_key(batch[-1][0]) for batch in batches.values() if len(batch) == MAX_ENTRIES]
    if ends:
        stream_entries = [entry for entry in stream_entries if entry_key(entry.position) <= min(ends)]
    return EntryPage(
        stream_entries, {**after, **{entry.part: entry.position for entry in stream_entries}}, not ends
    )


async def read_pages(redis: Redis, session_id: str, after: Positions) -> AsyncGenerator[EntryPage]:
    """Yield the pages after some positions; the last one may be empty."""
    while True:
        page = await read_page(redis, session_id, after)
        yield page
        if page.is_last:
            return
        after = page.after


async def read_changes(redis: Redis, session_id: str, after: Positions) -> EntryPage:
    """Return the next page of a session's entries.

    The page is registered as a reader of live output, so that models stream it.

    Args:
        redis: The client.
        session_id: The session.
        after: The positions.

    Raises:
        SessionNotFound: Redis does not hold the session.
    """
    if not await cast("Any", redis.exists(session_key(session_id, "session"))):
        raise SessionNotFound(session_id)
    await cast("Any", redis.set(session_key(session_id, "listening"), 1, px=LISTENING_MS))
    return await read_page(redis, session_id, after)


#: Maximum number of entries that wait for one reader.
MAX_WAITING = 2_000


class _Reader:
    def __init__(self) -> None:
        self.waiting: asyncio.Queue[StreamEntry] = asyncio.Queue(MAX_WAITING)
        self.is_full = False

    async def take(self, idle_s: float) -> list[StreamEntry]:
        """Return the next entries; none after `idle_s` seconds without one."""
        entries = []
        with suppress(TimeoutError):
            async with asyncio.timeout(idle_s):
                entries.append(await self.waiting.get())
        while entries and len(entries) < MAX_ENTRIES and not self.waiting.empty():
            entries.append(self.waiting.get_nowait())
        return entries


class SessionStreams:
    """The readers of single sessions.

    Args:
        redis: The client, for entries before a reader began.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis: Any = redis
        self._readers: defaultdict[str, set[_Reader]] = defaultdict(set)
        #: Key -> newest position that the hub has read.
        self._positions: dict[str, str] = {}
        self._named: dict[str, tuple[str, Part]] = {}

    def positions(self) -> dict[str, str]:
        """Return the streams to read: key -> position."""
        return self._positions

    def feed(self, batches: Mapping[str, list[Entry]]) -> None:
        """Hand new entries to their readers."""
        new_entries: list[tuple[str, StreamEntry]] = []
        for key, entries in batches.items():
            if key not in self._named:
                continue
            session_id, part = self._named[key]
            newest_read = entry_key(self._positions[key])
            for position, text in entries:
                if entry_key(position) > newest_read:
                    new_entries.append((session_id, StreamEntry(position, part, text)))
            self._positions[key] = entries[-1][0]
        for session_id, entry in sorted(new_entries, key=lambda pair: entry_key(pair[1].position)):
            for reader in self._readers[session_id]:
                try:
                    reader.waiting.put_nowait(entry)
                except asyncio.QueueFull:
                    reader.is_full = True

    async def follow(
        self, session_id: str, *, after: Positions, idle_s: float = 15.0
    ) -> AsyncGenerator[list[StreamEntry]]:
        """Yield the entries of a session after some positions, and nothing after `idle_s` seconds without one.

        Earlier entries are yielded page by page, so that memory is bounded. It ends when the reader is too slow.
        """
        reader = _Reader()
        # It is added before the earlier entries are read, so that it misses none.
        self._readers[session_id].add(reader)
        try:
            seen = dict(after)
            async with aclosing(read_pages(self._redis, session_id, after)) as pages:
                async for page in pages:
                    seen.update(page.after)
                    yield page.entries
            self._watch(session_id, seen)
            next_announcement = 0.0
            while not reader.is_full:
                if time.monotonic() >= next_announcement:
                    # Models stream their answers only while a reader is registered.
                    with suppress(
                        RedisError, StateError, OSError
                    ):  # the hub reports the outage, and recovers
                        await self._redis.set(session_key(session_id, "listening"), 1, px=LISTENING_MS)
                    next_announcement = time.monotonic() + LISTENING_EVERY_S
                entries = await reader.take(idle_s)
                new = [entry for entry in entries if entry_key(entry.position) > entry_key(seen[entry.part])]
                if new or not entries:
                    yield new
        finally:
            self._remove(session_id, reader)

    def _watch(self, session_id: str, seen: Mapping[Part, str]) -> None:
        """Let the hub read the streams of a session, unless it does already."""
        for part, position in seen.items():
            key = session_key(session_id, part)
            self._named[key] = session_id, part
            self._positions.setdefault(key, position)

    def _remove(self, session_id: str, reader: _Reader) -> None:
        self._readers[session_id].discard(reader)
        if not self._readers[session_id]:
            del self._readers[session_id]
            for part in PARTS:
                key = session_key(session_id, part)
                self._named.pop(key, None)
                self._positions.pop(key, None)
