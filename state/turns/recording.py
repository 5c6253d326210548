"""Records of the turns of a session, in the session's slot until they are archived.

A turn's record is written before the turn, so a written turn has one, and a worker that loses its turn leaves one
that no written turn refers to. One hash holds the records of a session, by the token of the grant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from redis import Redis

from ..redis.keys import recorded_key
from ..redis.scripts import ScriptValue, call_script

#: Maximum bytes of the records of one session that are not archived yet.
MOST_SESSION_BYTES = 32 * 1_048_576
#: Maximum bytes of the record of one turn; a larger one is cut.
MOST_TURN_BYTES = 2 * 1_048_576
#: Field of the size of all records; every other field is a token.
_BYTES = "bytes"


class RecordingStore:
    """Records of turns that are not archived yet. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def add(
        self, session_id: str, token: str, record: str, *, keep_ms: int, most_bytes: int = MOST_SESSION_BYTES
    ) -> bool:
        """Store a record for `keep_ms` milliseconds after the newest one; return False if the session has no room.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        args: dict[str, ScriptValue] = {
            "token": token,
            "record": record,
            "most_bytes": most_bytes,
            "keep_ms": keep_ms,
        }
        answer = call_script(self._client, "recording/add", [recorded_key(session_id)], args)
        return str(answer[0]) == "added"

    def read_all(self, session_id: str) -> dict[str, str]:
        """Return the records by token."""
        found = cast("dict[str, str]", self._client.hgetall(recorded_key(session_id)))
        return {token: record for token, record in found.items() if token != _BYTES}

    def remove(self, session_id: str, tokens: Sequence[str]) -> None:
        """Remove records, because the archive has them."""
        call_script(self._client, "recording/remove", [recorded_key(session_id)], {}, list(tokens))
