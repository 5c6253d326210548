"""What a session has learned and the memory of its user does not have yet, because the Redis of memories was unavailable.

It is kept in the Redis of the session, so that later turns see it, and is stored in the memory with a later turn.
"""

from __future__ import annotations

from typing import cast

from redis import Redis

from ..state.redis.keys import unstored_key

#: Milliseconds for which statements wait for the memory.
KEPT_MS = 7 * 24 * 3_600_000
#: Maximum number of turns of a session whose statements wait; the newest are kept.
MAX_TURNS = 100


class UnstoredStatements:
    """Results of turns with statements, by turn number. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def keep(self, session_id: str, number: int, result: str) -> None:
        """Keep the result of a turn, as JSON."""
        key = unstored_key(session_id)
        with self._client.pipeline(transaction=True) as pipe:
            pipe.hset(key, str(number), result)
            pipe.hdel(key, str(number - MAX_TURNS))
            pipe.pexpire(key, KEPT_MS)
            pipe.execute()

    def read(self, session_id: str) -> dict[int, str]:
        """Return the results by turn number, in the order of the turns."""
        found = cast("dict[str, str]", self._client.hgetall(unstored_key(session_id)))
        return {int(number): found[number] for number in sorted(found, key=int)}

    def drop(self, session_id: str, number: int) -> None:
        """Remove the result of a turn whose statements were stored."""
        self._client.hdel(unstored_key(session_id), str(number))
