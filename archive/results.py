"""Filters, pages, cursors and results of queries to the archive. Imports no SQL library."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from ..models.errors import InvalidInput
from ..models.sessions.archived import Documents
from ..models.sessions.query import ANY_QUERY, SessionQuery

T = TypeVar("T")

#: Maximum number of entries per page.
MAX_PAGE_SIZE = 1_000


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A session in a listing of the archive."""

    session_id: str
    opened_ms: int
    documents: Documents
    #: Status, counters and times, by their names in the session hash; None: absent there.
    fields: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message in a search result."""

    session_id: str
    title: str
    #: Participant id of the speaker; None: the message is not from a turn.
    speaker: str | None
    turn: int | None
    at_ms: int
    content: str


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Filter of sessions (None: any); times in milliseconds since the epoch, `until_ms` exclusive."""

    status: str | None = None
    mode: str | None = None
    participant: str | None = None
    tag: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    #: Text in the title, the beginning of the id, or the id of the thread.
    text: str | None = None
    #: Id of the thread, which is the id of its first session if that session named none.
    thread_id: str | None = None
    #: Further filters; their order and page have no effect.
    query: SessionQuery = ANY_QUERY


ANY_SESSION = SessionFilter()


@dataclass(frozen=True, slots=True)
class ResultPage(Generic[T]):
    """One page of results."""

    items: tuple[T, ...]
    #: Cursor of the next page; None: this is the last page.
    cursor: str | None


class PagePosition(NamedTuple):
    """A position in a list that grows only at its head, so later pages do not change."""

    at_ms: int
    row: int

    def cursor(self) -> str:
        """Return the position as an opaque cursor."""
        return encode_cursor(*self)

    @classmethod
    def from_cursor(cls, cursor: str) -> PagePosition:
        """Return the position of a cursor.

        Raises:
            InvalidInput: The cursor is not valid.
        """
        return cls(*decode_cursor(cursor, int, int))


def encode_cursor(*parts: int | str) -> str:
    """Return a cursor with these parts."""
    return urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, *kinds: type[int] | type[str]) -> list[Any]:
    """Return the parts of a cursor, which must have these types.

    Raises:
        InvalidInput: The cursor is not valid.
    """
    try:
        parts = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if [*map(type, parts)] != [*kinds] or any(
            type(part) is int and not 0 <= part < 2**63 for part in parts
        ):
            raise ValueError
    except (ValueError, TypeError, AttributeError):
        raise InvalidInput("cursor", cursor, "must be a cursor from a previous page") from None
    return list(parts)
