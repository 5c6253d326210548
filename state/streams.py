"""Reading a session's streams from a cursor on.

A cursor is the id of the last entry seen (`0` for the beginning), so a reader that was cut
off goes on where it stopped and sees nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, cast

from redis import Redis

from ..models.errors import SessionNotFound
from .keys import session_key

Stream = Literal["dialog", "events", "journal"]
#: (cursor, JSON)
Entry = tuple[str, str]

#: Entries fetched in one call.
PAGE = 500


def read_entries(raw: object) -> list[Entry]:
    """Entries of a stream as a client that decodes answers them; each holds one field."""
    entries = cast("list[tuple[str, dict[str, str]]]", raw)
    return [(entry_id, next(iter(fields.values()))) for entry_id, fields in entries]


def read_batches(answer: Any) -> dict[str, list[Entry]]:
    """An XREAD answer, of either protocol version: key -> entries."""
    if not answer:
        return {}
    pairs = answer.items() if isinstance(answer, dict) else answer
    batches = {}
    for key, entries in pairs:
        nested = bool(entries) and isinstance(entries[0], list)
        batches[key] = read_entries(entries[0] if nested else entries)
    return batches


class StreamReader:
    """Reads the dialog, the MAP events and the journal of sessions."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def page(self, session_id: str, stream: Stream, *, after: str = "0", count: int = PAGE) -> list[Entry]:
        """Up to `count` entries behind a cursor, oldest first."""
        low = "-" if after == "0" else f"({after}"
        return read_entries(self._client.xrange(session_key(session_id, stream), min=low, count=count))

    def all(self, session_id: str, stream: Stream, *, after: str = "0") -> Iterator[Entry]:
        """Every entry behind a cursor, oldest first, a page at a time."""
        while page := self.page(session_id, stream, after=after):
            yield from page
            after = page[-1][0]

    def whole(self, session_id: str, stream: Stream) -> Iterator[Entry]:
        """Every entry, oldest first. Raises SessionNotFound: it is not there, or expired while it was read."""
        yield from self.all(session_id, stream)
        if not self._client.exists(session_key(session_id, "session")):
            raise SessionNotFound(session_id)

    def newest_first(self, session_id: str, stream: Stream, *, page: int = 32) -> Iterator[Entry]:
        """Every entry, newest first, fetched as they are asked for."""
        key, before = session_key(session_id, stream), "+"
        while entries := read_entries(self._client.xrevrange(key, max=before, count=page)):
            yield from entries
            before = f"({entries[-1][0]}"

    def length(self, session_id: str, stream: Stream) -> int:
        """How many entries a stream has."""
        return int(self._client.xlen(session_key(session_id, stream)))
