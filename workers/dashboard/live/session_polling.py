"""Changes of a session for pages that poll."""

from __future__ import annotations

from typing import Any, cast

from redis.asyncio import Redis

from ....models.errors import SessionNotFound
from ....state.redis.keys import session_key
from ....state.turns.deltas import LISTENING_MS
from .session_pages import EntryPage, Positions, read_page


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
