"""What the archive answers, and what it is asked for."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from ..models.archived import Documents
from ..models.errors import InvalidInput

T = TypeVar("T")

#: Entries of a page at most.
MOST = 1_000


@dataclass(frozen=True, slots=True)
class Archived:
    """A session as the archive lists it."""

    session_id: str
    opened_ms: int
    documents: Documents
    #: Status, counters and times under the names of the session hash; None where it has none.
    fields: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Found:
    """A message that was searched for."""

    session_id: str
    title: str
    #: Participant id; None: nobody's turn.
    speaker: str | None
    turn: int | None
    at_ms: int
    content: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sessions; None: any. Times in milliseconds since the epoch, `until_ms` exclusive."""

    status: str | None = None
    mode: str | None = None
    participant: str | None = None
    tag: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None


ANY = Wanted()


@dataclass(frozen=True, slots=True)
class PageOf(Generic[T]):
    """Some of what was asked for, newest first."""

    items: tuple[T, ...]
    #: Where the next page begins; None: this was the last.
    cursor: str | None


class Place(NamedTuple):
    """A place in a list that only grows at its head: what is behind it stays behind it."""

    at_ms: int
    row: int

    def cursor(self) -> str:
        """As it is handed out: opaque."""
        return urlsafe_b64encode(json.dumps(self).encode()).decode().rstrip("=")

    @classmethod
    def of(cls, cursor: str) -> Place:
        """Raises InvalidInput for what was never handed out."""
        try:
            at_ms, row = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            return cls(int(at_ms), int(row))
        except (ValueError, TypeError):
            raise InvalidInput("cursor", cursor, "must be one that a page ended with") from None
