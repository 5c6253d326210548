"""Bytes of the attachments of live sessions, in the slot of their session.

A digest names the bytes, so a repeated write and that of a stale worker change nothing. They are written before the
message that refers to them, and expire with the session. What no message refers to is unused, and is limited, too.
"""

from __future__ import annotations

from typing import Any, cast

from redis import Redis
from redis.client import NEVER_DECODE

from ...models.attachments import MAX_BYTES, MAX_PER_SESSION, Attachment
from ..redis.keys import attachments_key
from ..redis.scripts import call_on_session

#: Field of the size of all attachments; every other field is a digest.
_BYTES = "bytes"
#: Milliseconds for which attachments of a session that is not open are kept.
_EARLY_MS = 3_600_000


class AttachmentStore:
    """Attachments of sessions in one Redis. The client may decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def add(self, session_id: str, attachment: Attachment, *, is_early: bool = False) -> str:
        """Store the data of an attachment.

        Args:
            session_id: The session.
            attachment: The attachment, with its data.
            is_early: The session is not open yet.

        Returns:
            `added`, also if it was there; `full`: the session has no room for it; `missing` or `ended`: there is no
            such session, or it has ended; `exists`, with `is_early`: there is such a session.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        assert attachment.data is not None  # noqa: S101 - the caller has the data
        return self.add_data(session_id, attachment.sha256, attachment.data, is_early=is_early)

    def add_data(self, session_id: str, sha256: str, data: bytes, *, is_early: bool = False) -> str:
        """Store bytes by their digest; the answers are those of `add`."""
        answer = call_on_session(
            self._client,
            "attachments/add",
            session_id,
            {
                "sha256": sha256,
                "data": data,
                "phase": "early" if is_early else "open",
                "most_bytes": MAX_BYTES,
                "most_number": MAX_PER_SESSION,
                "keep_ms": _EARLY_MS,
            },
        )
        return str(answer[0])

    def read(self, session_id: str, sha256: str) -> bytes | None:
        """Return the bytes with a digest; None: the session does not have them."""
        client: Any = self._client  # redis-py has no types for an answer that is not decoded
        data = client.execute_command("HGET", attachments_key(session_id), sha256, **{NEVER_DECODE: []})
        return cast("bytes | None", data)

    def size(self, session_id: str, sha256: str) -> int:
        """Return the number of bytes with a digest; 0: the session does not have them."""
        return self._client.hstrlen(attachments_key(session_id), sha256)

    def digests(self, session_id: str) -> list[str]:
        """Return the digests of all attachments of a session."""
        fields = cast("list[str]", self._client.hkeys(attachments_key(session_id)))
        return sorted(field for field in fields if field != _BYTES)
