"""Pages of the streams of one session, oldest entry first, with a position in each stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, NamedTuple, cast

from redis.asyncio import Redis

from ...models.errors import SessionNotFound
from ...state.redis.keys import session_key
from ...state.redis.readers import read_batches
from ...state.turns.deltas import LISTENING_MS
from .positions import PARTS, Part, Positions, position_key

#: Maximum number of entries of each stream in one page.
MOST_ENTRIES = 200


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
    """Return the entries after some positions, up to `MOST_ENTRIES` of each stream.

    If a stream has more, entries of other streams that are newer than its last one come with a later page.

    Args:
        redis: The client.
        session_id: The session.
        after: The positions.
    """
    keys = {session_key(session_id, part): part for part in PARTS}
    client: Any = redis
    # One command, so that no entry is added between the reads of two streams.
    answer = await client.xread({key: after[part] for key, part in keys.items()}, count=MOST_ENTRIES)
    batches = read_batches(answer)
    found = [
        StreamEntry(position, keys[key], text)
        for key, entries in batches.items()
        for position, text in entries
    ]
    found.sort(key=lambda it: position_key(it.position))
    ends = [position_key(it[-1][0]) for it in batches.values() if len(it) == MOST_ENTRIES]
    if ends:
        found = [it for it in found if position_key(it.position) <= min(ends)]
    return EntryPage(found, {**after, **{it.part: it.position for it in found}}, not ends)


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
