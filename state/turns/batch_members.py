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

    def is_last(self, batch_id: str, session_id: str, number: int) -> bool:
        """Return whether a turn is the only one that waits for the batch."""
        return self._client.smembers(batch_members_key(batch_id)) == {f"{session_id}|{number}"}

    def remove(self, batch_id: str, session_id: str, number: int) -> bool:
        """Remove a turn; return whether it was the last one that waited for the batch. False for a repeated call."""
        key = batch_members_key(batch_id)
        with self._client.pipeline(transaction=True) as pipe:
            pipe.srem(key, f"{session_id}|{number}")
            pipe.exists(key)
            is_removed, is_left = pipe.execute()
        return bool(is_removed) and not is_left
