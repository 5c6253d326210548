"""Call journal of an unfinished turn, and the note that an agent keeps from turn to turn.

The journal is one hash per turn, in the session's slot. The first attempt of a turn reads nothing; each
later attempt reads all calls once. The stored data is limited in size, number and time. A worker that lost
its turn may still write here: each answer belongs to the named call, so the next attempt may use it.

A note is derived from written data, so an outdated note does no harm, and a lost note is made again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import cast

from pydantic import JsonValue
from pydantic_core import to_json
from redis import Redis
from redis.exceptions import RedisError

from ...models.errors import StateError
from ..redis.keys import calls_key, lock_key, session_key
from ..redis.scripts import ScriptValue, call_script
from ..sessions.records import Grant

log = logging.getLogger(__name__)

#: Milliseconds for which finished calls are kept for the next attempt of the turn.
KEPT_MS = 24 * 3_600_000
#: Maximum number of stored calls of one turn, and bytes of one answer; other calls are made again on a retry.
MAX_CALLS = 500
MAX_BYTES = 1_048_576


class CallJournal:
    """The finished calls of one turn, for the worker that runs it.

    Args:
        client: A client that decodes responses.
        session_id: The session of the turn.
        number: The number of the turn.
        begun_before: Whether earlier attempts may have stored something.
    """

    def __init__(self, client: Redis, session_id: str, number: int, *, begun_before: bool) -> None:
        self._client = client
        self._key = calls_key(session_id, number)
        #: The stored calls; None: not read yet.
        self._calls: dict[str, str] | None = None if begun_before else {}
        self._written = begun_before

    def load(self) -> dict[str, str]:
        """Return the stored calls, which are read once; the reads below call this first.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        if self._calls is None:
            self._calls = cast("dict[str, str]", self._client.hgetall(self._key))
            self._written = bool(self._calls)
        return self._calls

    def get_answer(self, call: str) -> str | None:
        """Return the stored answer of a call; None: no answer is stored."""
        return self.load().get(call)

    def find_by_prefix(self, prefix: str) -> dict[str, str]:
        """Return the stored answers whose names start with `prefix`, by the rest of the name."""
        return {
            name.removeprefix(prefix): value for name, value in self.load().items() if name.startswith(prefix)
        }

    async def store_answers(self, answers: Mapping[str, str]) -> None:
        """Store answers. If Redis is unavailable, only this process has them, and the turn continues."""
        await asyncio.to_thread(self.store_now, answers)

    def store_now(self, answers: Mapping[str, str]) -> None:
        """Store answers as `store_answers` does, in the calling thread."""
        kept = {call: answer for call, answer in answers.items() if self._has_room(call, answer)}
        if kept:
            self.load().update(kept)
            self._write(kept)

    def add_written(self, answers: Mapping[str, str]) -> None:
        """Add answers that a script has stored."""
        self.load().update(answers)
        self._written = True

    async def delete_answers(self, kind: str) -> None:
        """Delete the answers of all calls whose name starts with `kind`."""
        calls = self.load()
        names = [call for call in calls if call.startswith(kind)]
        for name in names:
            del calls[name]
        if names:
            await asyncio.to_thread(self._drop, names)

    def extend_ttl(self, keep_ms: int) -> None:
        """Keep the stored data for at least `keep_ms` milliseconds, while the turn's question is open."""
        if self._written:
            self._try(lambda: self._client.pexpire(self._key, max(keep_ms, KEPT_MS)))

    def close(self) -> None:
        """Delete the stored data after the turn is written."""
        if self._written:
            self._try(lambda: self._client.unlink(self._key))

    def _has_room(self, call: str, answer: str) -> bool:
        calls = self.load()
        has_room = call in calls or len(calls) < MAX_CALLS
        try:
            return has_room and len(answer.encode()) <= MAX_BYTES
        except UnicodeEncodeError:  # a lone surrogate in a tool's answer: the call is made again
            return False

    def _write(self, kept: dict[str, str]) -> None:
        def write() -> None:
            with self._client.pipeline(transaction=True) as pipe:
                pipe.hset(self._key, items=[part for pair in kept.items() for part in pair])
                pipe.pexpire(self._key, KEPT_MS)
                pipe.execute()

        self._written = True
        self._try(write)

    def _drop(self, names: list[str]) -> None:
        self._try(lambda: self._client.hdel(self._key, *names))

    def _try(self, do: Callable[[], object]) -> None:
        try:
            do()
        except (RedisError, StateError) as error:
            log.warning(
                "%s: updating finished calls failed, a retry of the turn may repeat them: %s",
                self._key,
                error,
            )


#: Milliseconds for which a note is kept after it was written.
NOTE_TTL_MS = 7 * 24 * 3_600_000


class ParticipantNote:
    """The note of one participant."""

    def __init__(self, client: Redis, session_id: str, participant: str) -> None:
        self._client = client
        self._key = session_key(session_id, f"note:{participant}")

    async def read_note(self) -> str | None:
        """Return the note; None if there is none, or Redis is unavailable."""
        try:
            return cast("str | None", await asyncio.to_thread(self._client.get, self._key))
        except (RedisError, StateError) as error:
            log.warning("%s: reading the note failed, continuing without it: %s", self._key, error)
            return None

    async def write_note(self, note: str) -> None:
        """Replace the note; if Redis is unavailable, it is made again later."""
        try:
            await asyncio.to_thread(self._client.set, self._key, note, px=NOTE_TTL_MS)
        except (RedisError, StateError) as error:
            log.warning("%s: storing the note failed, it will be made again: %s", self._key, error)


@dataclass(frozen=True, slots=True)
class GuardHit:
    """A hit of a guard, and the refused answer for the next request to the agent."""

    #: Number of the hit in this attempt.
    number: int
    #: Data of the event.
    about: Mapping[str, JsonValue]
    #: The refused answer, by its name in the call journal.
    answer: Mapping[str, str]


def record_hit(
    client: Redis, session_id: str, grant: Grant, hit: GuardHit, stored: Mapping[str, str]
) -> bool:
    """Write the event of a hit and the refused answer, once; return False if the turn is lost.

    Args:
        client: Redis client that decodes responses.
        session_id: The session of the turn.
        grant: The grant under which the agent answered.
        hit: The hit.
        stored: What is stored in the call journal of the turn, by name.
    """
    keys = [
        *(session_key(session_id, part) for part in ("session", "journal", "turns")),
        calls_key(session_id, grant.number),
        lock_key(session_id, grant.scope),
    ]
    args: dict[str, ScriptValue] = {
        "number": grant.number,
        "token": grant.token,
        "hit": hit.number,
        "about": to_json(hit.about),
        "ttl_ms": KEPT_MS,
    }
    answer = call_script(client, "turns/record_hit", keys, args, [*chain.from_iterable(stored.items())])
    return str(answer[0]) == "recorded"
