"""A note that an agent keeps from turn to turn: one per participant and session, in the session's slot.

It is derived from written data, so an older note does no harm, and a lost one is made again.
"""

from __future__ import annotations

import asyncio
import logging
from typing import cast

from redis import Redis
from redis.exceptions import RedisError

from ...models.errors import StateError
from ..redis.keys import session_key

log = logging.getLogger(__name__)

#: Milliseconds for which a note is kept after it was written.
NOTE_TTL_MS = 7 * 24 * 3_600_000


class ParticipantNote:
    """The note of one participant."""

    def __init__(self, client: Redis, session_id: str, participant: str) -> None:
        self._client = client
        self._key = session_key(session_id, f"note:{participant}")

    async def read_note(self) -> str | None:
        """Return the note; None if there is none, or Redis is unavailable."""
        try:
            return cast("str | None", await asyncio.to_thread(self._client.get, self._key))
        except (RedisError, StateError) as error:
            log.warning("reading the note of a turn failed: %s", error)
            return None

    async def write_note(self, note: str) -> None:
        """Replace the note; if Redis is unavailable, it is made again later."""
        try:
            await asyncio.to_thread(self._client.set, self._key, note, px=NOTE_TTL_MS)
        except (RedisError, StateError) as error:
            log.warning("storing the note of a turn failed: %s", error)
