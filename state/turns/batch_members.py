"""Turns that wait for a provider's batch, in Redis: a batch with the requests of several turns is cancelled with the last."""

from __future__ import annotations

from redis import Redis

from ..redis.keys import batch_members_key

#: Seconds for which the turns of a batch are kept; providers end batches within a day.
_TTL_S = 3 * 86_400


class BatchMembers:
    """The turns that wait for each batch. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def add(self, batch_id: str, session_id: str, number: int) -> None:
        """Add a turn; a repeated call changes nothing."""
        key = batch_members_key(batch_id)
        with self._client.pipeline(transaction=True) as pipe:
            pipe.sadd(key, f"{session_id}|{number}")
            pipe.expire(key, _TTL_S)
            pipe.execute()

    def remove(self, batch_id: str, session_id: str, number: int) -> bool:
        """Remove a turn; return whether no turn waits for the batch any more."""
        key = batch_members_key(batch_id)
        with self._client.pipeline(transaction=True) as pipe:
            pipe.srem(key, f"{session_id}|{number}")
            pipe.exists(key)
            _, is_left = pipe.execute()
        return not is_left
