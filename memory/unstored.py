"""Statements of sessions that wait for the memory, while its server is unavailable."""

from __future__ import annotations

import logging
from typing import cast

from redis import Redis

from ..state.redis.keys import unstored_key

log = logging.getLogger(__name__)

#: Milliseconds for which statements wait for the memory.
KEPT_MS = 7 * 24 * 3_600_000
#: Maximum number of turns of a session whose statements wait; the newest are kept.
MAX_TURNS = 100


class UnstoredStatements:
    """What a session has learned and the memory of its user does not have yet: results of turns by number.

    The client must decode responses.
    """

    def __init__(self, client: Redis) -> None:
        self._client = client

    def keep(self, session_id: str, number: int, result: str) -> None:
        """Keep the result of a turn, as JSON."""
        key = unstored_key(session_id)
        with self._client.pipeline(transaction=True) as pipe:
            pipe.hset(key, str(number), result)
            pipe.hdel(key, str(number - MAX_TURNS))
            pipe.pexpire(key, KEPT_MS)
            _, removed, _ = pipe.execute()
        if removed:
            log.warning(
                "dialog memory: session %s, not stored: turn %d, more than %d turns wait",
                session_id,
                number - MAX_TURNS,
                MAX_TURNS,
            )

    def read(self, session_id: str) -> dict[int, str]:
        """Return the results by turn number, in the order of the turns."""
        results = cast("dict[str, str]", self._client.hgetall(unstored_key(session_id)))
        return {int(number): results[number] for number in sorted(results, key=int)}

    def drop(self, session_id: str, number: int) -> None:
        """Remove the result of a turn whose statements were stored."""
        self._client.hdel(unstored_key(session_id), str(number))
