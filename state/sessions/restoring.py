"""Restoring of sessions that Redis has lost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from redis import Redis

from ...models.sessions.archived import Documents, Entry, Snapshot
from ..redis.scripts import ScriptValue, call_on_session
from ..redis.streams import Stream
from .records import ScriptAnswer, read_answer

#: Maximum number of entries in one call, and their bytes.
_SOME = 200
_SOME_BYTES = 2_000_000


class Restorer:
    """Restoring of lost sessions in Redis. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def refill(self, session_id: str, stream: Stream, entries: Iterable[Entry]) -> bool:
        """Write the entries of a stream again, some at a time; existing ones do not change. Return False: the session is live."""
        flat: list[ScriptValue] = []
        size = 0
        for entry_id, text in entries:
            flat += [entry_id, text]
            size += len(text)
            if len(flat) >= 2 * _SOME or size >= _SOME_BYTES:
                if not self._refill(session_id, stream, flat):
                    return False
                flat, size = [], 0
        return not flat or self._refill(session_id, stream, flat)

    def restore(
        self, session_id: str, documents: Documents, snapshot: Snapshot, *, request: str
    ) -> ScriptAnswer:
        """Make the session live after its streams: `restored`, also for a repeated request, or `exists`."""
        hashes: dict[str, Mapping[str, str]] = {
            "fields": snapshot.fields,
            "turns": snapshot.turns,
            "board": snapshot.board,
        }
        args: dict[str, ScriptValue] = {
            "collab": documents.collab,
            "spec": documents.spec,
            "hashes": json.dumps(hashes),
            "request": request,
        }
        return read_answer(session_id, call_on_session(self._client, "archive/restore", session_id, args))

    def _refill(self, session_id: str, stream: Stream, flat: list[ScriptValue]) -> bool:
        answer = call_on_session(
            self._client, "archive/restore_stream", session_id, {"part": stream}, rest=flat
        )
        return str(answer[0]) == "refilled"
