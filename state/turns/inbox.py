"""The inbox: open questions by person. An index of its own, in a cluster slot of its own.

No script can change it together with a session, so it is a hint that may contain too much:
an entry is added before its turn is parked and removed after the answer. Readers
check the session, and remove entries of closed questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, cast

from redis import Redis

from ..redis.due_index import add_or_renew, drop
from ..redis.keys import INBOX

#: Maximum number of indexed questions; if there are more, the oldest can only be answered by session.
KEPT = 100_000
_PAGE = 500


class InboxEntry(NamedTuple):
    """One question to one person."""

    session_id: str
    turn_number: int
    name: str

    def member(self) -> str:
        """Return its member of the index."""
        return f"{self.session_id}|{self.turn_number}|{self.name}"


class Inbox:
    """Open questions by the time they were asked."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def add(self, letters: Iterable[InboxEntry], *, at_ms: int) -> None:
        """Add questions that were asked at `at_ms`, in milliseconds since the epoch; they may be in the index already."""
        members = [letter.member() for letter in letters]
        if members:
            add_or_renew(self._client, INBOX, members, at_ms)
            self._client.zremrangebyrank(INBOX, 0, -KEPT - 1)

    def remove(self, letters: Iterable[InboxEntry]) -> None:
        """Remove questions."""
        members = [letter.member() for letter in letters]
        if members:
            self._client.zrem(INBOX, *members)

    def list_entries(self, name: str | None = None) -> Iterator[tuple[InboxEntry, float]]:
        """Yield questions with their times, oldest first; with `name`, those to one person. Concurrent removals may hide others."""
        for member, at_ms in self._members():
            session_id, number, to = member.split("|", 2)
            if name in (None, to):
                yield InboxEntry(session_id, int(number), to), at_ms

    def remove_closed(self, letter: InboxEntry, at_ms: float) -> None:
        """Remove a closed question, unless it was entered again since it was read."""
        drop(self._client, INBOX, letter.member(), at_ms)

    def _members(self) -> list[tuple[str, float]]:
        members: list[tuple[str, float]] = []
        while page := self._client.zrange(INBOX, len(members), len(members) + _PAGE - 1, withscores=True):
            members += cast("list[tuple[str, float]]", page)
        return members
