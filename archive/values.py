"""Queries to the archive and their results."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from ..models.errors import InvalidInput
from ..models.sessions.archived import Documents

T = TypeVar("T")

#: Maximum number of entries per page.
MAX_PAGE_SIZE = 1_000


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A session in a listing of the archive."""

    session_id: str
    opened_ms: int
    documents: Documents
    #: Status, counters and times under the names of the session hash; None if absent there.
    fields: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message in a search result."""

    session_id: str
    title: str
    #: Participant id; None: not from a turn.
    speaker: str | None
    turn: int | None
    at_ms: int
    content: str


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Filter of sessions; None: any. Times in milliseconds since the epoch, `until_ms` exclusive."""

    status: str | None = None
    mode: str | None = None
    participant: str | None = None
    tag: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None


ANY_SESSION = SessionFilter()


@dataclass(frozen=True, slots=True)
class ResultPage(Generic[T]):
    """One page of results, newest first."""

    items: tuple[T, ...]
    #: Start of the next page; None: this is the last page.
    cursor: str | None


class PagePosition(NamedTuple):
    """A place in a list that grows only at its head, so later pages do not change."""

    at_ms: int
    row: int

    def cursor(self) -> str:
        """Return the place as an opaque cursor."""
        return urlsafe_b64encode(json.dumps(self).encode()).decode().rstrip("=")

    @classmethod
    def from_cursor(cls, cursor: str) -> PagePosition:
        """Read a cursor. Raises InvalidInput if it is not valid."""
        try:
            at_ms, row = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            return cls(int(at_ms), int(row))
        except (ValueError, TypeError):
            raise InvalidInput("cursor", cursor, "must be a cursor from a previous page") from None
