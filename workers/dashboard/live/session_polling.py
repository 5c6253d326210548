"""Changes of a session for pages that poll."""

from __future__ import annotations

from typing import Any, cast

from redis.asyncio import Redis

from ....models.errors import SessionNotFound
from ....state.redis.keys import session_key
from ....state.redis.readers import read_batches
from ....state.turns.deltas import LISTENING_MS
from .positions import position_key
from .session_streams import PARTS, StreamEntry, before_millisecond

#: Maximum number of entries of each stream in one answer.
_MOST_ENTRIES = 500


async def read_changes(redis: Redis, session_id: str, *, since: str) -> tuple[list[StreamEntry], str]:
    """Return the entries of a session from a position on, oldest first, and the position of the next read.

    Entries of the millisecond of `since` are returned again, as in `SessionStreams.follow`. The page is registered
    as a reader of live output, so that models stream it.

    Args:
        redis: The client.
        session_id: The session.
        since: The position.

    Raises:
        SessionNotFound: Redis does not hold the session.
    """
    if not await cast("Any", redis.exists(session_key(session_id, "session"))):
        raise SessionNotFound(session_id)
    await cast("Any", redis.set(session_key(session_id, "listening"), 1, px=LISTENING_MS))
    keys = {session_key(session_id, part): part for part in PARTS}
    # One command, so that no entry is added between the reads of two streams.
    after = dict.fromkeys(keys, before_millisecond(since))
    batches = read_batches(await cast("Any", redis.xread(after, count=_MOST_ENTRIES)))  # type: ignore[arg-type]
    found: list[StreamEntry] = []
    ends = []
    for key, entries in batches.items():
        found += [StreamEntry(position, keys[key], text) for position, text in entries]
        if len(entries) == _MOST_ENTRIES:
            ends.append(entries[-1][0])
    found.sort(key=lambda it: position_key(it.position))
    if ends:  # a stream has more: entries of other streams after its last one come with the next read
        end = min(ends, key=position_key)
        found = [it for it in found if position_key(it.position) <= position_key(end)]
    return found, found[-1].position if found else since
