"""The global indexes: sessions by due time, for the sweep, and by opening time, for people.

They live in slots of their own, so no script can change them together with a session. The
due index is therefore a hint that errs on the early side: a session is in it from before it
is opened until after it has ended, at a time no later than anything it may be owed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from .keys import DUE, OWED, SESSIONS
from .timetable import Timetable

#: The listing keeps this many of the newest sessions.
LISTED = 100_000


class SessionIndex(Timetable):
    """Which sessions there are and when the sweep should look at each."""

    KEY = DUE

    def now_ms(self) -> int:
        """The server's clock, milliseconds since the epoch."""
        seconds, micros = self._client.time()
        return int(seconds) * 1000 + int(micros) // 1000

    def add(self, session_id: str, *, look_in_ms: int, archived: bool = False) -> None:
        """Enters a session; one that is there already keeps its earlier time. `archived`: it is owed to an archive."""
        now = self.now_ms()
        self._client.zadd(DUE, {session_id: now + look_in_ms}, lt=True)
        if archived:
            self._client.zadd(OWED, {session_id: now}, lt=True)
        self._client.zadd(SESSIONS, {session_id: now}, nx=True)
        self._client.zremrangebyrank(SESSIONS, 0, -LISTED - 1)

    def sooner(self, session_id: str, due_ms: int) -> None:
        """Has the session looked at by `due_ms` at the latest; one that has ended meanwhile stays out."""
        self._client.zadd(DUE, {session_id: due_ms}, lt=True, xx=True)

    def settle(self, session_id: str) -> None:
        """The session has ended: the sweep need not look again, and an archive that is owed it should do so soon."""
        self._client.zrem(DUE, session_id)
        self._client.zadd(OWED, {session_id: 0}, xx=True, lt=True)

    def forget(self, session_ids: Sequence[str]) -> None:
        """Takes sessions whose keys have expired off both indexes."""
        if session_ids:
            self._client.zrem(SESSIONS, *session_ids)
            self._client.zrem(DUE, *session_ids)

    def opened_ms(self, session_id: str) -> int | None:
        """When the session was entered, or None."""
        score = self._client.zscore(SESSIONS, session_id)
        return None if score is None else int(score)

    def newest(self, *, count: int, offset: int = 0) -> list[str]:
        """Session ids, newest first."""
        return cast("list[str]", self._client.zrevrange(SESSIONS, offset, offset + count - 1))

    def unfinished(self) -> int:
        """How many sessions have not ended."""
        return int(self._client.zcard(DUE))
