"""The global indexes: sessions by due time, for the sweep, and by opening time, for people.

They live in slots of their own, so no script can change them together with a session. The
due index is therefore a hint that errs on the early side: a session is in it from before it
is opened until after it has ended, at a time no later than anything it may be owed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from redis import Redis

from .keys import DUE, OWED, SESSIONS, session_key
from .owed import OwedIndex
from .timetable import Timetable

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
        seconds, micros = self._client.time()
        return int(seconds) * 1000 + int(micros) // 1000

    def add(self, session_id: str, *, look_in_ms: int, archived: bool = False) -> None:
        """Enters a session that is about to be opened; one that is there already keeps its earlier look.

        `archived`: it is owed to an archive.
        """
        now = self.now_ms()
        # Into the listing first: who looks for the session before it is opened asks there how long it has been missing.
        if not self._client.zadd(SESSIONS, {session_id: now}, nx=True) and not self._client.exists(
            session_key(session_id, "session")
        ):
            self._client.zadd(SESSIONS, {session_id: now})  # its id was another session's, which has expired
        self.enter(session_id, now + look_in_ms)
        if archived:
            self._owed.enter(session_id, now)
        self._client.zremrangebyrank(SESSIONS, 0, -LISTED - 1)

    def list_at(self, session_id: str, opened_ms: int) -> None:
        """Lists a session that was opened long ago and restored now among those of its time."""
        self._client.zadd(SESSIONS, {session_id: opened_ms}, xx=True)

    def sooner(self, session_id: str, due_ms: int) -> None:
        """Has the session looked at by `due_ms` at the latest; one that has ended meanwhile stays out."""
        self._client.zadd(DUE, {session_id: due_ms}, lt=True, xx=True)

    def settle(self, session_id: str) -> None:
        """The session has ended: the sweep need not look again, and an archive that is owed it should do so soon."""
        self._client.zrem(DUE, session_id)
        self._client.zadd(OWED, {session_id: 0}, xx=True, lt=True)

    def is_orphan(self, session_id: str) -> bool:
        """Whether a session that is not there has expired or was never opened: nobody is about to open it."""
        entered_ms = self._client.zscore(SESSIONS, session_id)
        return entered_ms is None or self.now_ms() - entered_ms > ORPHAN_MS

    def unlist(self, session_ids: Sequence[str]) -> int:
        """Takes sessions that are not there off the listing, but those that may be about to be opened. Answers how many."""
        orphans = [session_id for session_id in session_ids if self.is_orphan(session_id)]
        return int(self._client.zrem(SESSIONS, *orphans)) if orphans else 0

    def newest(self, *, count: int, offset: int = 0) -> list[str]:
        """Session ids, newest first."""
        return cast("list[str]", self._client.zrevrange(SESSIONS, offset, offset + count - 1))

    def unfinished(self) -> int:
        """How many sessions have not ended."""
        return int(self._client.zcard(DUE))
