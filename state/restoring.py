"""Making a session that Redis has lost live again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from redis import Redis

from ..models.archived import Documents, Entry, Snapshot
from .keys import session_key
from .records import Answer, read_answer
from .scripts import Script, evaluate, load, type_value
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

    def restore(self, session_id: str, documents: Documents, snapshot: Snapshot) -> Answer:
        """Makes the session live, its streams being there: `restored`, or `exists`."""
        hashes: dict[str, Mapping[str, str]] = {
            "fields": snapshot.fields,
            "turns": snapshot.turns,
            "board": snapshot.board,
        }
        args: dict[str, type_value] = {
            "collab": documents.collab,
            "spec": documents.spec,
            "hashes": json.dumps(hashes),
        }
        return read_answer(self._evaluate(load("restore"), session_id, args, ()), None)

    def _refill(self, session_id: str, stream: Stream, flat: list[type_value]) -> bool:
        word: str = self._evaluate(load("refill"), session_id, {"part": stream}, flat)[0]
        return word == "refilled"

    def _evaluate(
        self, script: Script, session_id: str, args: Mapping[str, type_value], rest: Iterable[type_value]
    ) -> list[str]:
        keys = [session_key(session_id, part) for part in script.keys]
        answer: list[str] = evaluate(self._client, script, keys, script.arg_list(args, list(rest)))
        return answer
