"""Sessions by the time at which somebody should look at them, each handed to one at a time."""

from __future__ import annotations

from typing import ClassVar

from redis import Redis

from .scripts import evaluate, load


class Timetable:
    """A sorted set of session ids by time, in milliseconds since the epoch. The client must decode responses."""

    #: The sorted set.
    KEY: ClassVar[str]

    def __init__(self, client: Redis) -> None:
        self._client = client

    def enter(self, session_id: str, at_ms: int) -> None:
        """Enters a session; one that is there already keeps an earlier time that somebody asked for."""
        if not self._client.zadd(self.KEY, {session_id: at_ms}, nx=True):
            self.look_at(session_id, at_ms)

    def claim(self, *, limit: int, hold_ms: int) -> list[str]:
        """Up to `limit` sessions whose time has come; nobody else gets them for `hold_ms`."""
        ids: list[str] = evaluate(self._client, load("claim"), [self.KEY], [limit, hold_ms])[1]
        return ids

    def look_at(self, session_id: str, at_ms: int) -> None:
        """Sets the time of the next look at a claimed session, unless an earlier one was asked for meanwhile."""
        evaluate(self._client, load("postpone"), [self.KEY], [session_id, at_ms])

    def drop(self, session_id: str) -> None:
        """Takes off a claimed session that is not there, unless somebody has entered it meanwhile."""
        evaluate(self._client, load("drop"), [self.KEY], [session_id])
