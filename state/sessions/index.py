"""Global indexes of sessions: by due time, for the sweep, and by opening time, for people.

The second also shows whether a session that is not found has expired or is about to be opened.

The indexes are in slots of their own, so no script can change them together with a session. The
due index is therefore a hint whose times are never too late: a session is in it from before it
is opened until after it has ended, at a time no later than its next due action.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import cast

from redis import Redis

from ..redis.due_index import CLAIM_FRACTION, DueIndex, add_or_renew, drop
from ..redis.keys import ARCHIVE_QUEUE, DUE, SESSIONS, session_key
from ..redis.readers import server_ms
from .archiving import ArchiveQueue

#: Maximum number of listed sessions; the newest are kept.
LISTED = 100_000
#: Milliseconds after which an entry without a session does not belong to a session that is about to be opened.
ORPHAN_MS = 3_600_000


class SessionIndex(DueIndex):
    """Index of sessions, with the time of the sweep's next check of each."""

    KEY = DUE

    def __init__(self, client: Redis) -> None:
        super().__init__(client)
        self._archive_queue = ArchiveQueue(client)

    def now_ms(self) -> int:
        """Return the server's time, milliseconds since the epoch."""
        return server_ms(self._client)

    def add_session(self, session_id: str, *, look_in_ms: int, archived: bool = False) -> int:
        """Add a session that is about to be opened; an existing entry keeps its earlier time.

        `archived`: it is in the archive queue. Return when it was listed, in milliseconds since the epoch; 0: it was listed before.
        """
        now = self.now_ms()
        # First the listing: a reader that looks for the session before it is opened sees that it will be.
        is_new = self._client.zadd(SESSIONS, {session_id: now}, nx=True)
        if not is_new and not self._client.exists(session_key(session_id, "session")):
            self._client.zadd(SESSIONS, {session_id: now})  # its id was another session's, which has expired
        self.add_due(session_id, now + look_in_ms)
        if archived:
            self._archive_queue.add_due(session_id, now)
        self._client.zremrangebyrank(SESSIONS, 0, -LISTED - 1)
        return now if is_new else 0

    def list_session(self, session_id: str, opened_ms: int) -> None:
        """List an existing session at its own opening time, if its id was listed before."""
        add_or_renew(self._client, SESSIONS, [session_id], opened_ms)

    def set_due_by(self, session_id: str, due_ms: int) -> None:
        """Schedule a check of the session by `due_ms` at the latest; a session that has ended meanwhile stays out."""
        self._client.zadd(DUE, {session_id: due_ms}, lt=True, xx=True)

    def mark_ended(self, session_id: str) -> None:
        """The session has ended: remove it from the sweep, and make its entry in the archive queue due soon."""
        self._client.zrem(DUE, session_id)
        self._client.zadd(ARCHIVE_QUEUE, {session_id: 0}, xx=True, lt=True)

    def unfinished(self) -> int:
        """Return the number of sessions that have not ended."""
        return int(self._client.zcard(DUE))

    def drop_orphan(self, session_id: str, table: DueIndex) -> None:
        """Remove a session that was not found from a table of sessions, unless it may be about to be opened.

        The order matters: opening writes these keys in the opposite order, so after any interleaving of the two
        reads, either one of them or the entry itself shows it.
        """
        time, listed_ms = table.time_of(session_id), self._client.zscore(SESSIONS, session_id)
        if time is None or time % 1 != CLAIM_FRACTION or self._may_be_opened(listed_ms):
            return  # or a check was requested since the claim
        if not self._client.exists(session_key(session_id, "session")):
            table.drop(session_id, time)

    def unlist(self, session_id: str, listed_ms: float) -> None:
        """Remove a session that was not found from the listing, where it was at `listed_ms`, unless it may be about to be opened."""
        if not self._may_be_opened(listed_ms):
            drop(self._client, SESSIONS, session_id, listed_ms)

    def iterate_listed(self, *, page_size: int = 100) -> Iterator[tuple[str, float]]:
        """Yield session ids, newest first, with their listing times; read page by page."""
        until, seen = float("inf"), set[str]()
        while page := self._page(until, page_size + len(seen), but=seen):
            yield from page
            last = page[-1][1]
            seen = {name for name, time in page if time == last} | (seen if last == until else set())
            until = last

    def _page(self, until: float, size: int, *, but: Container[str]) -> list[tuple[str, float]]:
        # By time, not by rank: entries that are removed meanwhile must not hide entries after them.
        page = self._client.zrevrangebyscore(SESSIONS, until, "-inf", start=0, num=size, withscores=True)
        return [(name, time) for name, time in cast("list[tuple[str, float]]", page) if name not in but]

    def _may_be_opened(self, listed_ms: float | None) -> bool:
        return listed_ms is not None and self.now_ms() - listed_ms <= ORPHAN_MS
