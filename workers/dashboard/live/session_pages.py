"""Pages of the streams of one session, oldest entry first, with a position in each stream.

Ids of entries order the streams of a session by time, but several streams may use the same id. So a position that
is exact names the last entry of each stream; a single id stands for all entries before its millisecond.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from redis.asyncio import Redis

from ....models.errors import InvalidInput, SessionNotFound
from ....state.redis.keys import session_key
from ....state.redis.readers import read_batches
from ....state.turns.deltas import LISTENING_MS
from .positions import position_key

#: Streams of a session that a page follows.
Part = Literal["events", "journal", "dialog", "deltas"]
PARTS: tuple[Part, ...] = ("events", "journal", "dialog", "deltas")
#: Stream -> id of its last entry.
Positions: TypeAlias = Mapping[Part, str]
#: Maximum number of entries of each stream in one page.
MOST_ENTRIES = 200
#: Greater than every counter of an entry.
_LAST_COUNTER = 2**53
_ID = r"\d{1,15}(?:-\d{1,16})?"
_POSITIONS = re.compile(rf"{_ID}(?:\.{_ID}){{{len(PARTS) - 1}}}|{_ID}")


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


def read_positions(text: str) -> Positions:
    """Return the positions that a client sent.

    Args:
        text: A position of `write_positions`, or the id of one entry: the entries of its millisecond come again.

    Raises:
        InvalidInput: It is neither.
    """
    if not _POSITIONS.fullmatch(text):
        raise InvalidInput("after", text, "must be a position from an earlier answer")
    ids = text.split(".")
    if len(ids) == 1:
        return dict.fromkeys(PARTS, f"{max(0, position_key(text)[0] - 1)}-{_LAST_COUNTER}")
    return dict(zip(PARTS, ids, strict=True))


def write_positions(positions: Positions) -> str:
    """Return positions as text without characters that a URL escapes."""
    return ".".join(positions[part] for part in PARTS)


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
