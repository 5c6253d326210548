"""Due index: sessions by the time of their next check, each claimed by one caller at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import randrange
from typing import ClassVar, cast

from redis import Redis

from .scripts import ScriptValue, evaluate, evaluate_many, load_script

#: Fraction of a millisecond that marks the end of a claim; a requested time has another
#: (`due_index/claim.lua`).
CLAIM_FRACTION = 0.5


class DueIndex:
    """A sorted set of session ids by time, in milliseconds since the epoch. The client must decode responses."""

    #: The sorted set.
    KEY: ClassVar[str]

    def __init__(self, client: Redis) -> None:
        self._client = client

    def add_due(self, session_id: str, at_ms: int) -> None:
        """Add a session; an existing entry keeps an earlier requested time."""
        self.add_all_due({session_id: at_ms})

    def add_all_due(self, times_ms: Mapping[str, int]) -> None:
        """Add sessions at their times; as `add_due`, in few round trips."""
        self._postpone(times_ms, entering=True)

    def claim(self, *, limit: int, hold_ms: int) -> list[str]:
        """Claim up to `limit` due sessions; no other caller gets them for `hold_ms`."""
        ids: list[str] = evaluate(self._client, load_script("due_index/claim"), [self.KEY], [limit, hold_ms])[
            1
        ]
        return ids

    def reschedule(self, session_id: str, at_ms: int) -> None:
        """Set the time of the next check of a claimed session, unless an earlier one was requested meanwhile."""
        self.reschedule_all({session_id: at_ms})

    def reschedule_all(self, times_ms: Mapping[str, int]) -> None:
        """Set the times of claimed sessions; as `reschedule`, in few round trips."""
        self._postpone(times_ms, entering=False)

    def list_ids(self) -> list[str]:
        """Return all sessions, for a process that owns every session of its server."""
        return cast("list[str]", self._client.zrange(self.KEY, 0, -1))

    def count_due(self, *, before_ms: int) -> int:
        """Return the number of sessions that were due before that time, without those that are due at once (0)."""
        return int(self._client.zcount(self.KEY, 1, before_ms))

    def time_of(self, session_id: str) -> float | None:
        """Return the session's time; None: it is not in the index."""
        time: float | None = self._client.zscore(self.KEY, session_id)
        return time

    def drop(self, session_id: str, time: float) -> None:
        """Remove a session if its time has not changed."""
        drop(self._client, self.KEY, session_id, time)

    def _postpone(self, times_ms: Mapping[str, int], *, entering: bool) -> None:
        calls: list[tuple[list[str], list[ScriptValue]]] = [
            ([self.KEY], [session_id, at_ms, int(entering)]) for session_id, at_ms in times_ms.items()
        ]
        evaluate_many(self._client, load_script("due_index/reschedule"), calls)


def drop(client: Redis, key: str, member: str, time: float) -> None:
    """Remove a member from a sorted set if its time is still `time`."""
    evaluate(client, load_script("due_index/remove"), [key], [member, repr(time)])


def add_or_renew(client: Redis, key: str, members: Sequence[str], at_ms: int) -> None:
    """Add or renew members of a sorted set; a concurrent `drop` that read the old time keeps the renewed member."""
    # In 1/4096, the resolution of a double for present times in milliseconds.
    fraction = randrange(1, 2048) / 4096  # noqa: S311 - not a secret
    evaluate(client, load_script("due_index/add"), [key], [at_ms, fraction, *members])
