"""The global indexes: sessions by due time, for the sweep, and by opening time, for people.

The second also tells whether a session that is not found has expired or is about to be opened.

They live in slots of their own, so no script can change them together with a session. The
due index is therefore a hint that errs on the early side: a session is in it from before it
is opened until after it has ended, at a time no later than anything it may be owed.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import cast

from redis import Redis

from .clock import server_ms
from .keys import DUE, OWED, SESSIONS, session_key
from .owed import OwedIndex
from .timetable import HELD, Timetable, drop, enter_anew

#: The listing keeps this many of the newest sessions.
LISTED = 100_000
#: A session that was entered this long ago, in milliseconds, and is not there, nobody is about to open.
ORPHAN_MS = 3_600_000


class SessionIndex(Timetable):
    """Which sessions there are and when the sweep should look at each."""

    KEY = DUE

    def __init__(self, client: Redis) -> None:
        super().__init__(client)
        self._owed = OwedIndex(client)

    def now_ms(self) -> int:
        """The server's clock, milliseconds since the epoch."""
        return server_ms(self._client)

    def add(self, session_id: str, *, look_in_ms: int, archived: bool = False) -> int:
        """Enters a session that is about to be opened; one that is there already keeps its earlier look.

        `archived`: it is owed to an archive. Answers when it was listed, in milliseconds since the epoch; 0: it was listed before.
        """
        now = self.now_ms()
        # Into the listing first: it tells who looks for the session before it is opened that somebody is at it.
        is_new = self._client.zadd(SESSIONS, {session_id: now}, nx=True)
        if not is_new and not self._client.exists(session_key(session_id, "session")):
            self._client.zadd(SESSIONS, {session_id: now})  # its id was another session's, which has expired
        self.enter(session_id, now + look_in_ms)
        if archived:
            self._owed.enter(session_id, now)
        self._client.zremrangebyrank(SESSIONS, 0, -LISTED - 1)
        return now if is_new else 0

    def list_at(self, session_id: str, opened_ms: int) -> None:
        """Lists a session that is there, and was listed under its id before, among those of its time."""
        enter_anew(self._client, SESSIONS, [session_id], opened_ms)

    def sooner(self, session_id: str, due_ms: int) -> None:
        """Has the session looked at by `due_ms` at the latest; one that has ended meanwhile stays out."""
        self._client.zadd(DUE, {session_id: due_ms}, lt=True, xx=True)

    def settle(self, session_id: str) -> None:
        """The session has ended: the sweep need not look again, and an archive that is owed it should do so soon."""
        self._client.zrem(DUE, session_id)
        self._client.zadd(OWED, {session_id: 0}, xx=True, lt=True)

    def unfinished(self) -> int:
        """How many sessions have not ended."""
        return int(self._client.zcard(DUE))

    def drop_orphan(self, session_id: str, table: Timetable) -> None:
        """Takes a session that was not found off a table of sessions, unless somebody may be about to open it.

        The order counts: who opens it writes these things in the opposite order, so whatever happens between two of the
        looks, either one of them or the entry itself tells.
        """
        time, listed_ms = table.time_of(session_id), self._client.zscore(SESSIONS, session_id)
        if time is None or time % 1 != HELD or self._may_be_opened(listed_ms):
            return  # or somebody has asked for a look since the claim
        if not self._client.exists(session_key(session_id, "session")):
            table.drop(session_id, time)

    def unlist(self, session_id: str, listed_ms: float) -> None:
        """Takes a session that was not found off the listing, which had it at `listed_ms` before, unless it may be about to be opened."""
        if not self._may_be_opened(listed_ms):
            drop(self._client, SESSIONS, session_id, listed_ms)

    def listed(self, *, page_size: int = 100) -> Iterator[tuple[str, float]]:
        """Session ids, newest first, with the times at which they are listed; read page by page."""
        until, seen = float("inf"), set[str]()
        while page := self._page(until, page_size + len(seen), but=seen):
            yield from page
            last = page[-1][1]
            seen = {name for name, time in page if time == last} | (seen if last == until else set())
            until = last

    def _page(self, until: float, size: int, *, but: Container[str]) -> list[tuple[str, float]]:
        # By time, not by rank: what is taken off the listing meanwhile must hide nothing behind it.
        page = self._client.zrevrangebyscore(SESSIONS, until, "-inf", start=0, num=size, withscores=True)
        return [(name, time) for name, time in cast("list[tuple[str, float]]", page) if name not in but]

    def _may_be_opened(self, listed_ms: float | None) -> bool:
        return listed_ms is not None and self.now_ms() - listed_ms <= ORPHAN_MS
