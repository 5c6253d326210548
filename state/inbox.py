"""The inbox: which questions are open, and to whom. An index of its own, in a cluster slot of its own.

No script can change it together with a session, so it is a hint that errs on the long side:
a question is entered before its turn is parked and struck out after it was answered. Whoever
reads it looks at the session, and strikes out what is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, cast

from redis import Redis

from .keys import INBOX
from .timetable import drop, enter_anew

#: Open questions that are kept track of; of more, the oldest are answered by session only.
KEPT = 100_000
_PAGE = 500


class Letter(NamedTuple):
    """One question to one person."""

    session_id: str
    turn_number: int
    name: str

    def member(self) -> str:
        """How the index holds it."""
        return f"{self.session_id}|{self.turn_number}|{self.name}"


class Inbox:
    """Open questions by the time they were asked."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def add(self, letters: Iterable[Letter], *, at_ms: int) -> None:
        """Enters questions that were asked at `at_ms`, in milliseconds since the epoch, also once more."""
        members = [letter.member() for letter in letters]
        if members:
            enter_anew(self._client, INBOX, members, at_ms)
            self._client.zremrangebyrank(INBOX, 0, -KEPT - 1)

    def remove(self, letters: Iterable[Letter]) -> None:
        """Strikes questions out."""
        members = [letter.member() for letter in letters]
        if members:
            self._client.zrem(INBOX, *members)

    def letters(self, name: str | None = None) -> Iterator[tuple[Letter, float]]:
        """Questions and when they were asked, oldest first; with `name`, those to one person. What is removed meanwhile may hide others."""
        for member, at_ms in self._members():
            session_id, number, to = member.split("|", 2)
            if name in (None, to):
                yield Letter(session_id, int(number), to), at_ms

    def strike(self, letter: Letter, at_ms: float) -> None:
        """Strikes out a question that is over, unless it was entered again since it was read."""
        drop(self._client, INBOX, letter.member(), at_ms)

    def _members(self) -> list[tuple[str, float]]:
        members: list[tuple[str, float]] = []
        while page := self._client.zrange(INBOX, len(members), len(members) + _PAGE - 1, withscores=True):
            members += cast("list[tuple[str, float]]", page)
        return members
