"""Ids of sessions that requests of clients have begun, in Redis: the same request again is the same session.

An id is random: who knows the request cannot guess it. The client must decode.
"""

from __future__ import annotations

from hashlib import sha256

from redis import Redis

from ..models.text.ids import new_id
from .redis.keys import request_key

#: Seconds for which a request may be sent again.
_TTL_S = 86_400


class RequestIdStore:
    """Session ids, by requests."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def reserve(self, *request: str) -> str:
        """Return the id of the session of a request: a new one, or that of the same request before.

        Args:
            request: What makes it the same request: the protocol, the tenant, the caller, and the key of the client.
        """
        digest = sha256("\0".join(f"{len(part)}:{part}" for part in request).encode()).hexdigest()
        key = request_key(digest)
        session_id = new_id()
        if self._client.set(key, session_id, nx=True, ex=_TTL_S):
            return session_id
        return str(self._client.get(key) or session_id)
