"""Sessions by the time at which somebody should look at them, each handed to one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from random import randrange
from typing import ClassVar

from redis import Redis

from .scripts import evaluate, load

#: The fraction of a millisecond that tells when a claim ends from a time that somebody asked for (`claim.lua`).
HELD = 0.5


class Timetable:
    """A sorted set of session ids by time, in milliseconds since the epoch. The client must decode responses."""

    #: The sorted set.
    KEY: ClassVar[str]

    def __init__(self, client: Redis) -> None:
        self._client = client

    def enter(self, session_id: str, at_ms: int) -> None:
        """Enters a session; one that is there already keeps an earlier time that somebody asked for."""
        self._postpone(session_id, at_ms, entering=True)

    def claim(self, *, limit: int, hold_ms: int) -> list[str]:
        """Up to `limit` sessions whose time has come; nobody else gets them for `hold_ms`."""
        ids: list[str] = evaluate(self._client, load("claim"), [self.KEY], [limit, hold_ms])[1]
        return ids

    def look_at(self, session_id: str, at_ms: int) -> None:
        """Sets the time of the next look at a claimed session, unless an earlier one was asked for meanwhile."""
        self._postpone(session_id, at_ms, entering=False)

    def time_of(self, session_id: str) -> float | None:
        """Its time; None: it is not there."""
        time: float | None = self._client.zscore(self.KEY, session_id)
        return time

    def drop(self, session_id: str, time: float) -> None:
        """Takes off a session whose time is still this one."""
        drop(self._client, self.KEY, session_id, time)

    def _postpone(self, session_id: str, at_ms: int, *, entering: bool) -> None:
        evaluate(self._client, load("postpone"), [self.KEY], [session_id, at_ms, int(entering)])


def drop(client: Redis, key: str, member: str, time: float) -> None:
    """Takes a member off a sorted set if its time is still the one that was read."""
    evaluate(client, load("drop"), [key], [member, repr(time)])


def enter_anew(client: Redis, key: str, members: Sequence[str], at_ms: int) -> None:
    """Enters members into a sorted set, also once more: who read an entry before and is about to `drop` it keeps the new one."""
    # In 4096ths, which is as fine as a double tells the milliseconds of this age apart.
    fraction = randrange(1, 2048) / 4096  # noqa: S311 - no secret
    evaluate(client, load("anew"), [key], [at_ms, fraction, *members])
