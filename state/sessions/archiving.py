"""What waits for the archive: archive queue, entries and records of turns not archived yet; and restoring.

A turn's record is written before the turn, so a written turn has one, and a worker that loses its turn leaves one
that no written turn refers to. One hash holds the records of a session, by the token of the grant.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from redis import Redis

from ...models.sessions.archived import (
    ArchivePage,
    ArchiveProgress,
    Documents,
    Entry,
    Snapshot,
    StreamPositions,
)
from ..redis.due_index import DueIndex
from ..redis.formats import FORMATS
from ..redis.keys import ARCHIVE_QUEUE, recorded_key, session_key
from ..redis.readers import Stream
from ..redis.scripts import ScriptValue, call_on_session, call_script
from .records import ScriptAnswer, read_answer

#: Status of a parked turn as cjson writes it. No text of a record can contain it, because quotes in texts are escaped.
_PARKED_MARK = '"status":"parked"'


def is_waiting(turns: Mapping[str, str]) -> bool:
    """Return whether all turns of a session, from its turns hash, wait for answers."""
    records = [text for name, text in turns.items() if ":" not in name]
    return bool(records) and all(_PARKED_MARK in record for record in records)


class PageRead(NamedTuple):
    """Answer of a read of a session."""

    #: `page`, `unchanged`, `newer` (a newer version wrote the session) or `missing`.
    word: str
    page: ArchivePage | None = None


class ArchiveQueue(DueIndex):
    """Sessions by the time of their next archiving. The client must decode responses."""

    KEY = ARCHIVE_QUEUE

    def remove_archived(self, session_id: str) -> None:
        """Remove a session that is completely archived."""
        self._client.zrem(ARCHIVE_QUEUE, session_id)

    def count(self, *, before_ms: int | None = None) -> int:
        """Return the number of queued sessions; with `before_ms`, of those due before that time."""
        return int(self._client.zcount(ARCHIVE_QUEUE, "-inf", "+inf" if before_ms is None else before_ms))


class SnapshotReader:
    """Reader of the entries not archived yet, in pages; it also sets the TTL of archived sessions."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def read_page(self, session_id: str, progress: ArchiveProgress) -> PageRead:
        """Return a page of the entries after `progress`."""
        args = _args(progress.opened_ms, progress.marks) | {
            "updated_ms": progress.updated_ms,
            "newest_format": FORMATS["session"],
        }
        raw = call_on_session(self._client, "archive/snapshot", session_id, args)
        if raw[0] == "page":
            return PageRead("page", _page(session_id, progress, raw))
        return PageRead(raw[0])

    def is_waiting(self, session_id: str) -> bool:
        """Return whether all turns of a session wait for answers."""
        return is_waiting(cast("dict[str, str]", self._client.hgetall(session_key(session_id, "turns"))))

    def expire_if_archived(
        self, session_id: str, progress: ArchiveProgress, *, retention_ms: int
    ) -> int | None:
        """Set the TTL of an ended session to `retention_ms` milliseconds, if it is completely archived.

        Return when it ended, in milliseconds since the epoch; None: it has not ended, or is not completely
        archived.
        """
        args = _args(progress.opened_ms, progress.marks) | {"retention_ms": retention_ms}
        answer = call_on_session(self._client, "archive/expire", session_id, args)
        return int(answer[1]) if answer[0] == "kept" else None


def is_live(client: Redis, session_id: str, opened_ms: int) -> bool:
    """Return whether Redis has this session, and not another session with the same id."""
    return client.hget(session_key(session_id, "session"), "opened_ms") == str(opened_ms)


def _args(opened_ms: int, marks: StreamPositions) -> dict[str, ScriptValue]:
    named: dict[str, ScriptValue] = {f"{stream}_mark": mark for stream, mark in marks._asdict().items()}
    return named | {"opened_ms": opened_ms}


def _page(session_id: str, progress: ArchiveProgress, raw: list[Any]) -> ArchivePage:
    _, opened_ms, documents, dialog, events, journal, hashes = raw
    return ArchivePage(
        session_id=session_id,
        opened_ms=opened_ms,
        since=progress.marks if opened_ms == progress.opened_ms else StreamPositions(),
        dialog=_pairs(dialog),
        events=_pairs(events),
        journal=_pairs(journal),
        documents=Documents(*documents),
        snapshot=Snapshot(*(dict(_pairs(flat)) for flat in hashes)) if hashes else None,
    )


def _pairs(flat: list[str]) -> tuple[Entry, ...]:
    return tuple(zip(flat[::2], flat[1::2], strict=True))


#: Maximum number of entries in one call, and their bytes.
_SOME = 200
_SOME_BYTES = 2_000_000


class Restorer:
    """Writer of sessions that are no longer in Redis. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def refill(self, session_id: str, stream: Stream, entries: Iterable[Entry]) -> bool:
        """Write the entries of a stream; existing entries do not change. Return False: the session is live."""
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
        """Make the session live, after its streams were written; return `restored` or `exists`.

        A repeated request also returns `restored`.
        """
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


#: Maximum bytes of the records of one session that are not archived yet.
MAX_SESSION_BYTES = 32 * 1_048_576
#: Maximum bytes of the record of one turn; a larger one is cut.
MAX_TURN_BYTES = 2 * 1_048_576
#: Field of the size of all records; every other field is a token.
_BYTES = "bytes"


class RecordingStore:
    """Records of turns that are not archived yet. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def add(
        self, session_id: str, token: str, record: str, *, keep_ms: int, most_bytes: int = MAX_SESSION_BYTES
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
        records = cast("dict[str, str]", self._client.hgetall(recorded_key(session_id)))
        return {token: record for token, record in records.items() if token != _BYTES}

    def remove(self, session_id: str, tokens: Sequence[str]) -> None:
        """Remove records, because the archive has them."""
        call_script(self._client, "recording/remove", [recorded_key(session_id)], {}, list(tokens))
