"""Dialog memories in Redis: read in one round trip, changed in another, and no change is ever lost.

A change is made from what was read and put in its place only if that is still there
(`memory_swap.lua`). If somebody was faster the answer holds what they wrote, and the change
is made again from that: the rules of merging live in `models.memory` alone.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha1
from typing import Any, Final

from redis import Redis
from redis.exceptions import NoScriptError, RedisError, ResponseError

from ..models.errors import CorruptMemory, ScriptError, StateError
from ..models.memory.capping import fitted, too_large
from ..models.memory.merge import Statement, Writer, applied, signed
from ..models.memory.sharing import Sharing, read_sharing, write_sharing
from ..models.memory.state import MemoryState
from ..models.memory.wire_form import read_state
from .clock import time_ms
from .connect import answers_of
from .keys import memory_key, sharing_key
from .memory_counts import MemoryCounts, MemoryEvent
from .memory_log import log_dropped
from .memory_values import Held, Look, MemoryRules, Owner
from .scripts import load

log = logging.getLogger("symposia.state.memory")

#: What is raised when Redis is away, in one way or another.
AWAY: Final = (RedisError, StateError, OSError)
#: A consent is kept for a year after it was given or used.
SHARING_TTL_MS = 365 * 86_400_000
#: Times a change is made again because somebody else was faster, before it is given up.
_MAX_TRIES = 1_000


@dataclass(frozen=True, slots=True)
class _Swap:
    key: str
    version: str
    text: str
    #: 0: as it is.
    ttl_ms: int
    #: What the text says.
    value: MemoryState | Sharing
    evicted: int = 0


class MemoryStore:
    """Dialog memories in one Redis. The client must decode responses."""

    def __init__(self, client: Redis, rules: MemoryRules) -> None:
        self.client = client
        self.rules = rules
        self.counts = MemoryCounts(client)

    def key(self, owner: Owner) -> str:
        """Where a memory is kept."""
        return memory_key(owner.user, owner.room, hash_tag=self.rules.hash_tag)

    def shared_key(self, user: str) -> str:
        """Where what a user lets other rooms know is kept."""
        return sharing_key(user, hash_tag=self.rules.hash_tag)

    def look(self, owner: Owner) -> Look:
        """The memory now: one round trip. One that is corrupt or too old counts as empty, and is dropped.

        Raises:
            RedisError, StateError: the server does not answer.
        """
        room_key, shared_key = self.key(owner), self.shared_key(owner.user)
        pipeline = self.client.pipeline(transaction=False)
        pipeline.time()
        pipeline.get(room_key)
        pipeline.get(shared_key)
        time, room, shared = answers_of(self.client, pipeline)
        self.counts.deliver()
        now_ms = time_ms(time)
        return Look(now_ms, self._read_room(room_key, room, now_ms), self._read_sharing(shared_key, shared))

    def ttl_left_ms(self, owner: Owner) -> int:
        """Milliseconds until a memory is forgotten; 0 when there is none."""
        return max(int(self.client.pttl(self.key(owner))), 0)

    def write(
        self,
        owner: Owner,
        statements: Sequence[Statement],
        writer: Writer,
        *,
        look: Look,
        slides: bool = True,
    ) -> Look:
        """Adds statements to what `look` saw: one round trip, and one more for each writer who was faster.

        Args:
            owner: whose memory it is.
            statements: what is said, oldest first.
            writer: who says it; one whose mark the memory has seen changes nothing.
            look: what the change is made from.
            slides: whether the time to live begins anew; what is only forgotten keeps its own.

        Returns:
            What is there now: `look` itself when there was nothing to write.
        """
        small = [self._small_enough(statement) for statement in statements]
        if small != list(statements) and not any(it.parameters or it.forget for it in small):
            return look
        for _ in range(_MAX_TRIES):
            swaps = self._swaps(owner, small, writer, look=look, slides=slides)
            if not swaps:
                return look
            answers = self._swap(swaps)
            look = self._looked_again(look, swaps, answers)
            if all(answer is None for answer in answers):
                self._count_evicted(swaps)
                return look
        raise ScriptError("memory_swap", f"others were faster {_MAX_TRIES} times")

    def write_sharing(self, user: str, sharing: Sharing, *, version: str) -> bool:
        """Puts a consent in the place of the one that was read; an empty one removes it. False: it changed."""
        text = write_sharing(sharing) if sharing.allowed else ""
        return self._swap([_Swap(self.shared_key(user), version, text, SHARING_TTL_MS, sharing)]) == [None]

    def rooms(self, user: str) -> list[str]:
        """The rooms in which something is remembered of a user, sorted.

        Looks through all keys of the server, page by page: for people who ask, never for turns.
        """
        prefix = memory_key(user, "", hash_tag=self.rules.hash_tag)
        pattern = re.sub(r"([*?\[\]\\])", r"\\\1", prefix) + "*"
        return sorted({key.removeprefix(prefix) for key in self.client.scan_iter(pattern, count=1_000)})

    # -- reading -------------------------------------------------------------------------------

    def _read_room(self, key: str, raw: object, now_ms: int) -> Held[MemoryState]:
        if raw is None:
            return Held(MemoryState())
        try:
            held = Held(read_state(_text(raw)), _version(_text(raw)))
        except CorruptMemory as error:
            self._drop(key, raw, MemoryEvent.CORRUPT, error.detail)
            return Held(MemoryState())
        if held.value.is_expired(now_ms, ttl_ms=self.rules.ttl_ms):
            self._drop(key, raw, MemoryEvent.EXPIRED, "it is older than its time to live")
            return Held(MemoryState())
        return held

    def _read_sharing(self, key: str, raw: object) -> Held[Sharing]:
        try:
            return Held(Sharing()) if raw is None else Held(read_sharing(_text(raw)), _version(_text(raw)))
        except CorruptMemory as error:
            self._drop(key, raw, MemoryEvent.CORRUPT, error.detail)
            return Held(Sharing())

    def _drop(self, key: str, raw: object, event: MemoryEvent, why: str) -> None:
        """Removes what was read, unless it has been replaced since."""
        log_dropped(key, why)
        self.counts.count(event)
        if isinstance(raw, str):
            self._swap([_Swap(key, _version(raw), "", 0, MemoryState())])
        else:
            self.client.delete(key)

    def _looked_again(self, look: Look, swaps: Sequence[_Swap], answers: Sequence[str | None]) -> Look:
        """What was seen, with what has been written since, by this writer or another."""
        for swap, answer in zip(swaps, answers, strict=True):
            if isinstance(swap.value, MemoryState):
                mine = Held(swap.value, _version(swap.text))
                there = self._read_room(swap.key, answer or None, look.now_ms)
                look = replace(look, room=mine if answer is None else there)
            else:
                shared = Held(swap.value, _version(swap.text))
                others = self._read_sharing(swap.key, answer or None)
                look = replace(look, sharing=shared if answer is None else others)
        return look

    # -- writing -------------------------------------------------------------------------------

    def _swaps(
        self, owner: Owner, statements: Sequence[Statement], writer: Writer, *, look: Look, slides: bool
    ) -> list[_Swap]:
        swaps = []
        after = _room_after(look, statements, writer)
        if after is not None:
            fit, version = fitted(after, max_bytes=self.rules.max_bytes), look.room.version
            # Only what is there has a time to live that could stay as it is.
            ttl_ms = self.rules.ttl_ms if slides or not version else 0
            swaps.append(_Swap(self.key(owner), version, fit.text, ttl_ms, fit.state, len(fit.evicted)))
        covered = [statement for statement in statements if look.sharing.value.covers(statement)]
        if covered:
            sharing = look.sharing.value.after(covered)
            state = signed(sharing.state, replace(writer, messages=0))
            sharing = replace(sharing, state=fitted(state, max_bytes=self.rules.max_bytes).state)
            key, version = self.shared_key(owner.user), look.sharing.version
            swaps.append(_Swap(key, version, write_sharing(sharing), SHARING_TTL_MS, sharing))
        return swaps

    def _count_evicted(self, swaps: Sequence[_Swap]) -> None:
        evicted = sum(swap.evicted for swap in swaps)
        if evicted:
            self.counts.count(MemoryEvent.EVICTED, evicted)

    def _small_enough(self, statement: Statement) -> Statement:
        refused = too_large(statement, max_bytes=self.rules.max_bytes)
        if not refused:
            return statement
        log.warning("Dialog state: %s of %s is over the size cap", ", ".join(refused), statement.service)
        self.counts.count(MemoryEvent.TOO_LARGE, len(refused))
        small = {name: known for name, known in statement.parameters.items() if name not in refused}
        return replace(statement, parameters=small)

    def _swap(self, swaps: Sequence[_Swap]) -> list[str | None]:
        """None for each that was put in place; for the others what is there now, empty for nothing."""
        script = load("memory_swap")
        answers = self._sent("evalsha", script.sha, swaps)
        if any(isinstance(answer, NoScriptError) for answer in answers):
            answers = self._sent("eval", script.text, swaps)
        for answer in answers:
            if isinstance(answer, ResponseError):
                raise ScriptError(script.verb, str(answer)) from answer
        return [None if answer[0] == "swapped" else answer[1] for answer in answers]

    def _sent(self, command: str, script: str, swaps: Sequence[_Swap]) -> list[Any]:
        pipeline = self.client.pipeline(transaction=False)
        for swap in swaps:
            getattr(pipeline, command)(script, 1, swap.key, swap.version, swap.text, swap.ttl_ms)
        return answers_of(self.client, pipeline)


def _room_after(look: Look, statements: Sequence[Statement], writer: Writer) -> MemoryState | None:
    """The memory with the statements in it; None when it has them already, or there is nothing to remember."""
    before = look.room.value
    if writer.mark in before.written:
        return None
    after = before
    for statement in statements:
        after = applied(after, statement)
    is_empty = not (after.shelves or after.floor_ms or look.room.version)
    return None if is_empty else signed(after, writer)


def _text(raw: object) -> str:
    """What GET answered. Raises CorruptMemory when the key holds something else than text."""
    if not isinstance(raw, str):
        raise CorruptMemory("the key holds no text")
    return raw


def _version(text: str) -> str:
    return sha1(text.encode(), usedforsecurity=False).hexdigest()
