"""Reader of a session's streams from a cursor on.

A cursor is the id of the last entry seen (`0` for the beginning), so a reader that lost its
connection continues where it stopped and sees nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, cast

from redis import Redis

from ...models.errors import SessionNotFound
from .keys import session_key

Stream = Literal["dialog", "events", "journal"]
#: (cursor, JSON)
Entry = tuple[str, str]

#: Entries fetched in one call.
PAGE = 500


def read_entries(raw: object) -> list[Entry]:
    """Return the entries of a stream from the answer of a decoding client; each has one field."""
    entries = cast("list[tuple[str, dict[str, str]]]", raw)
    return [(entry_id, next(iter(fields.values()))) for entry_id, fields in entries]


def read_batches(answer: Any) -> dict[str, list[Entry]]:
    """Convert an XREAD answer, of either protocol version: key -> entries."""
    if not answer:
        return {}
    pairs = answer.items() if isinstance(answer, dict) else answer
    batches = {}
    for key, entries in pairs:
        nested = bool(entries) and isinstance(entries[0], list)
        batches[key] = read_entries(entries[0] if nested else entries)
    return batches


class StreamReader:
    """Reader of the dialog, the MAP events and the journal of sessions."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def page(self, session_id: str, stream: Stream, *, after: str = "0", count: int = PAGE) -> list[Entry]:
        """Return up to `count` entries after a cursor, oldest first."""
        low = "-" if after == "0" else f"({after}"
        return read_entries(self._client.xrange(session_key(session_id, stream), min=low, count=count))

    def all(self, session_id: str, stream: Stream, *, after: str = "0") -> Iterator[Entry]:
        """Yield every entry after a cursor, oldest first, read page by page."""
        while page := self.page(session_id, stream, after=after):
            yield from page
            after = page[-1][0]

    def whole(self, session_id: str, stream: Stream) -> Iterator[Entry]:
        """Yield every entry, oldest first. Raises SessionNotFound if the session does not exist, or expired while it was read."""
        yield from self.all(session_id, stream)
        if not self._client.exists(session_key(session_id, "session")):
            raise SessionNotFound(session_id)

    def newest_first(self, session_id: str, stream: Stream, *, page: int = 32) -> Iterator[Entry]:
        """Yield every entry, newest first, read on demand."""
        key, before = session_key(session_id, stream), "+"
        while entries := read_entries(self._client.xrevrange(key, max=before, count=page)):
            yield from entries
            before = f"({entries[-1][0]}"

    def length(self, session_id: str, stream: Stream) -> int:
        """Return the number of entries of a stream."""
        return int(self._client.xlen(session_key(session_id, stream)))
