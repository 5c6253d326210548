"""Making a session that Redis has lost live again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from redis import Redis

from ..models.archived import Documents, Entry, Snapshot
from .records import Answer, read_answer
from .scripts import call_on_session, type_value
from .streams import Stream

#: Entries that are given back in one call, and bytes of them.
_SOME = 200
_SOME_BYTES = 2_000_000


class Restorer:
    """Gives lost sessions back to Redis. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def refill(self, session_id: str, stream: Stream, entries: Iterable[Entry]) -> bool:
        """Gives a stream back, some entries at a time; what is there is left. False: the session is live."""
        flat: list[type_value] = []
        size = 0
        for entry_id, text in entries:
            flat += [entry_id, text]
            size += len(text)
            if len(flat) >= 2 * _SOME or size >= _SOME_BYTES:
                if not self._refill(session_id, stream, flat):
                    return False
                flat, size = [], 0
        return not flat or self._refill(session_id, stream, flat)

    def restore(self, session_id: str, documents: Documents, snapshot: Snapshot, *, request: str) -> Answer:
        """Makes the session live, its streams being there: `restored`, also when the same request is sent again, or `exists`."""
        hashes: dict[str, Mapping[str, str]] = {
            "fields": snapshot.fields,
            "turns": snapshot.turns,
            "board": snapshot.board,
        }
        args: dict[str, type_value] = {
            "collab": documents.collab,
            "spec": documents.spec,
            "hashes": json.dumps(hashes),
            "request": request,
        }
        return read_answer(session_id, call_on_session(self._client, "restore", session_id, args))

    def _refill(self, session_id: str, stream: Stream, flat: list[type_value]) -> bool:
        answer = call_on_session(self._client, "refill", session_id, {"part": stream}, rest=flat)
        return str(answer[0]) == "refilled"
