"""Calls that an unfinished turn has finished, kept until the turn is written.

One hash a turn, in the session's slot: name of the call -> answer. A turn that is begun for
the first time has nothing to look up, so it reads nothing; one that is begun again reads all
there is, once. What is kept is bounded in size, in number and in time.

A worker that has lost its turn may still write here: what it writes is the answer to the very
call it names, so whoever has the turn now may use it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import cast

from redis import Redis
from redis.exceptions import RedisError

from ..models.errors import StateError
from .keys import calls_key

log = logging.getLogger(__name__)

#: How long finished calls wait for their turn to be begun again, milliseconds.
KEPT_MS = 24 * 3_600_000
#: Calls of one turn, and bytes of one answer, that are kept; what exceeds them is made again.
MOST_CALLS = 500
MOST_BYTES = 1_048_576


class TurnJournal:
    """The finished calls of one turn, for the worker that speaks it.

    Args:
        client: decodes responses.
        session_id: whose turn.
        number: which turn.
        begun_before: whether former attempts may have kept something. Raises RedisUnavailable when it
            cannot be read.
    """

    def __init__(self, client: Redis, session_id: str, number: int, *, begun_before: bool) -> None:
        self._client = client
        self._key = calls_key(session_id, number)
        self._calls: dict[str, str] = {}
        if begun_before:
            self._calls = cast("dict[str, str]", client.hgetall(self._key))
        self._written = bool(self._calls)

    def recall(self, call: str) -> str | None:
        """The answer kept for a call; None: it has not finished yet."""
        return self._calls.get(call)

    def begin_with(self, prefix: str) -> dict[str, str]:
        """What is kept under names that begin so, by the rest of the name."""
        return {name.removeprefix(prefix): it for name, it in self._calls.items() if name.startswith(prefix)}

    async def keep(self, answers: Mapping[str, str]) -> None:
        """Keeps answers. Without Redis they are lost with this process, and the turn goes on."""
        kept = {call: answer for call, answer in answers.items() if self._has_room(call, answer)}
        if kept:
            self._calls |= kept
            await asyncio.to_thread(self._write, kept)

    async def forget(self, kind: str) -> None:
        """Drops the answers of all calls whose name begins with `kind`."""
        names = [call for call in self._calls if call.startswith(kind)]
        for name in names:
            del self._calls[name]
        if names:
            await asyncio.to_thread(self._drop, names)

    def last(self, keep_ms: int) -> None:
        """What is kept waits at least so long for its turn to go on: for as long as its question is open."""
        if self._written:
            self._try(lambda: self._client.pexpire(self._key, max(keep_ms, KEPT_MS)))

    def close(self) -> None:
        """The turn is written: nothing of this is needed any more."""
        if self._written:
            self._try(lambda: self._client.unlink(self._key))

    def _has_room(self, call: str, answer: str) -> bool:
        has_room = call in self._calls or len(self._calls) < MOST_CALLS
        try:
            return has_room and len(answer.encode()) <= MOST_BYTES
        except UnicodeEncodeError:  # half of a surrogate pair, as odd tools answer: it is made again
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

    @staticmethod
    def _try(do: Callable[[], object]) -> None:
        try:
            do()
        except (RedisError, StateError) as error:
            log.warning("finished calls could not be kept: %s", error)
