"""Notices to people about their questions, in Redis: which are due, who sends one, how far it is.

The markers of a session are in its slot, so that no notice is sent twice. The index of due notices is in another
slot and is a hint: a session is added before its question is parked, and once more afterwards. The client must decode
responses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, cast

from pydantic import BaseModel
from redis import Redis

from .redis.due_index import DueIndex
from .redis.keys import NOTICES_DUE, notified_key, session_key
from .redis.readers import read_stored, server_ms
from .redis.scripts import ScriptValue, call_script

_YEAR_S = 31_536_000
_HOUR_MS = 3_600_000
#: Maximum attempts to send one notice; the last is about an hour and a half after the first.
MAX_ATTEMPTS = 10


class NoticeIndex(DueIndex):
    """Sessions with questions to people who have an address, by the time of the next check."""

    KEY = NOTICES_DUE

    def add(self, session_id: str, *, in_ms: int = 0) -> None:
        """Add a session; an existing entry keeps an earlier requested time."""
        self.add_due(session_id, server_ms(self._client) + in_ms)
        self._client.expire(NOTICES_DUE, _YEAR_S)


class NoticeId(NamedTuple):
    """One notice: a stage of a question, to one person, in one way."""

    #: Id of the question: a digest of its reply token.
    question: str
    person: str
    #: `question`, `escalation`, or `reminder-1`, `reminder-2`, ...
    stage: str
    #: `email` or `chat`.
    channel: str

    @property
    def field(self) -> str:
        """Field of the marker; the name of a person may contain any character."""
        return f"{self.question}:{self.stage}:{self.channel}:{self.person}"


class NoticeMarker(BaseModel):
    """Progress of a notice."""

    state: str = "new"
    attempt: int = 0
    #: End of the lease, or time of the next attempt, in milliseconds since the epoch.
    until_ms: float = 0
    error: str = ""

    @property
    def is_over(self) -> bool:
        """Whether it is not sent any more."""
        return self.state in ("sent", "failed")


@dataclass(frozen=True, slots=True)
class Claim:
    """Answer to a claim."""

    #: Number of the attempt; None: not granted.
    attempt: int | None
    #: For a notice that another worker has, or that waits: until when, in milliseconds since the epoch.
    until_ms: int | None = None


class NoticeStore:
    """Markers of notices, by session."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self.index = NoticeIndex(client)

    def claim(self, session_id: str, notice: NoticeId, *, lease_ms: int, ttl_ms: int) -> Claim:
        """Claim a notice."""
        args: dict[str, ScriptValue] = {
            "field": notice.field,
            "lease_ms": lease_ms,
            "ttl_ms": ttl_ms,
            "max_attempts": MAX_ATTEMPTS,
        }
        answer = call_script(self._client, "notices/claim", [_key(session_id)], args)
        if answer[0] == "granted":
            return Claim(attempt=int(answer[1]))
        return Claim(attempt=None, until_ms=int(answer[1]) if answer[0] == "held" else None)

    def mark(
        self, session_id: str, notice: NoticeId, attempt: int, state: str, *, in_ms: int = 0, error: str = ""
    ) -> bool:
        """Record the progress of an attempt; return whether it is still the newest one."""
        args: dict[str, ScriptValue] = {
            "field": notice.field,
            "attempt": attempt,
            "state": state,
            "in_ms": in_ms,
            "error": error,
        }
        return bool(call_script(self._client, "notices/mark", [_key(session_id)], args)[0] == "marked")

    def read(self, session_id: str) -> dict[str, NoticeMarker]:
        """Return the markers of a session, by their fields."""
        stored = cast("dict[str, str]", self._client.hgetall(_key(session_id)))
        return {
            field: read_stored(NoticeMarker, text, session_id=session_id, part="a notice")
            for field, text in stored.items()
        }

    def failures(self, session_id: str, question: str) -> list[str]:
        """Return the notices about a question that were not sent: stage, person and error."""
        lines = []
        for field, marker in self.read(session_id).items():
            digest, stage, channel, person = field.split(":", 3)
            if digest == question and marker.error:
                lines.append(f"{stage} to {person} by {channel}: {marker.error}")
        return lines

    def count(self, person: str, *, now_ms: int, by: int = 1) -> int:
        """Count a notice to a person, or -1 for one that was not sent; return their number in this hour."""
        key = notified_key(person, now_ms // _HOUR_MS)
        with self._client.pipeline(transaction=True) as pipe:
            pipe.incrby(key, by)
            pipe.expire(key, 2 * _HOUR_MS // 1000)
            return int(pipe.execute()[0])


def ms_of_next_hour(now_ms: int) -> int:
    """Return the milliseconds until the counts of notices begin again."""
    return _HOUR_MS - now_ms % _HOUR_MS


def _key(session_id: str) -> str:
    return session_key(session_id, "notices")
