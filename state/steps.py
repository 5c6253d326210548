"""Steps of Celery canvases whose results come from sessions, in Redis. The client must decode responses.

The record of a step holds what its Celery message holds, so that the message can be sent again. The index of steps
is the outbox: an entry exists from before a message is sent until the step is over. So it names each message that
may have to be sent again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from redis import Redis

from .redis.due_index import DueIndex
from .redis.keys import STEPS, session_key
from .redis.readers import server_ms
from .redis.scripts import call_script
from .sessions.index import QueueProgress


class StepIndex(DueIndex):
    """Steps, and sessions with a message to send at their end, by the time of the next check."""

    KEY = STEPS

    def count(self) -> int:
        """Return the number of entries."""
        return int(self._client.zcard(STEPS))

    def set_due(self, session_id: str, in_ms: int = 0) -> None:
        """Add a session, or set the time of its next check, in milliseconds from now."""
        self._client.zadd(STEPS, {session_id: server_ms(self._client) + in_ms})

    def expect_ends(self, session_ids: Iterable[str], *, in_ms: int) -> None:
        """Add sessions that are about to be opened, with a message to send at their end; existing entries are kept."""
        due_ms = server_ms(self._client) + in_ms
        self.add_all_due(dict.fromkeys(session_ids, due_ms))

    def remove(self, session_id: str) -> None:
        """Remove a session: nothing is left to send."""
        self._client.zrem(STEPS, session_id)


@dataclass(frozen=True, slots=True)
class StepRecord:
    """Record of a step."""

    #: `sent`: no worker has opened its session; `waiting`: for the end of its session; `done`.
    stage: str
    #: The message as JSON; empty: not stored.
    call: str
    #: Whether its session was opened.
    is_open: bool
    is_revoked: bool
    #: Time at which its newest message was sent, by the server's clock, in milliseconds; 0: not known.
    sent_ms: int = 0


class StepStore:
    """Records of steps, by the ids of their sessions."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self.index = StepIndex(client)
        #: How far workers have come in the common queue.
        self.progress = QueueProgress(client)

    def register(self, session_id: str, call: str, *, stage: str, check_in_ms: int) -> tuple[str, int]:
        """Store a step before its message is sent (`sent`) or its session is opened (`waiting`).

        Return `registered`, `exists` or `done`, and the time by the server's clock, in milliseconds.
        """
        # The entry first: a crash between both leaves an entry without a record, which the sweep removes.
        self.index.set_due(session_id, check_in_ms)
        word, now_ms = call_script(
            self._client, "steps/register", [_key(session_id)], {"call": call, "stage": stage}
        )
        if word == "done":
            self.index.remove(session_id)
        return word, now_ms

    def read(self, session_id: str) -> StepRecord | None:
        """Return the record of a step; None: there is none."""
        names = ("stage", "call", "open", "revoked", "sent_ms")
        stage, call, is_open, revoked, sent_ms = cast(
            "list[str | None]", self._client.hmget(_key(session_id), list(names))
        )
        if stage is None:
            return None
        return StepRecord(stage, call or "", bool(is_open), bool(revoked), int(sent_ms or 0))

    def mark_open(self, session_id: str) -> None:
        """Record that the session of a step is open."""
        self._client.hset(_key(session_id), "open", "1")

    def mark_revoked(self, session_id: str) -> bool:
        """Record that a step is revoked; return whether it is a step that is not over."""
        record = self.read(session_id)
        if record is None or record.stage == "done":
            return False
        self._client.hset(_key(session_id), "revoked", "1")
        return True

    def count_message(self, session_id: str, *, is_new: bool) -> tuple[int, int] | None:
        """Count a message before it is sent again. `is_new`: it is the first since the end of the session.

        Return the number of such messages, and the time by the server's clock, in milliseconds. None: the step is over.
        """
        answer = call_script(self._client, "steps/count_message", [_key(session_id)], {"is_new": int(is_new)})
        return None if answer[0] == "over" else (answer[1], answer[2])

    def claim(self, session_id: str, *, lease_ms: int) -> str:
        """Claim the report of the end: `granted`, `held`, `done` or `missing`."""
        word: str = call_script(self._client, "steps/claim", [_key(session_id)], {"lease_ms": lease_ms})[0]
        return word

    def finish(self, session_id: str, *, ttl_ms: int) -> None:
        """Record that a step is over."""
        call_script(self._client, "steps/finish", [_key(session_id)], {"ttl_ms": ttl_ms})
        self.index.remove(session_id)

    def claim_call(self, session_id: str, *, lease_ms: int, ttl_ms: int) -> bool:
        """Claim a call of the URL of a session; return whether no other process makes it, or has made it."""
        args = {"lease_ms": lease_ms, "ttl_ms": ttl_ms}
        return bool(call_script(self._client, "steps/claim_call", [_key(session_id)], args)[0] == "granted")

    def count_attempt(self, session_id: str, *, ttl_ms: int) -> int:
        """Count a failed attempt to call the URL of a session, which ends its claim; return their number."""
        with self._client.pipeline(transaction=True) as pipe:
            pipe.hincrby(_key(session_id), "attempts", 1)
            pipe.hdel(_key(session_id), "claimed_until_ms")
            pipe.pexpire(_key(session_id), ttl_ms)
            return int(pipe.execute()[0])

    def withdraw(self, session_id: str, *, check_in_ms: int) -> None:
        """Remove a step whose message could not be sent, unless a worker has it.

        The sweep removes the entry: at this moment a worker may be registering the step.
        """
        call_script(self._client, "steps/withdraw", [_key(session_id)], {})
        self.index.set_due(session_id, check_in_ms)


def end_check_ms(grace_ms: int) -> int:
    """Return the milliseconds between two checks whether a session has ended: its end sends the message, too."""
    return min(6 * grace_ms, 60_000)


def _key(session_id: str) -> str:
    return session_key(session_id, "step")
