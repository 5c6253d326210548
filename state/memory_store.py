"""Dialog memories in Redis: read in one round trip, changed in another, and no change is ever lost.

A change is made from what was read and put in its place only if that is still there
(`memory_swap.lua`). If somebody was faster the answer holds what they wrote, and the change
is made again from that: the rules of merging live in `models.memory` alone.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from redis import Redis
from redis.exceptions import RedisError

from ..models.errors import CorruptMemory, ScriptError, StateError
from ..models.memory.capping import fitted, too_large
from ..models.memory.merge import Statement, Writer, applied, signed
from ..models.memory.sharing import Sharing, read_sharing, write_sharing
from ..models.memory.state import MemoryState
from ..models.memory.wire_form import read_state
from .clock import time_ms
from .keys import memory_key, sharing_key
from .memory_counts import MemoryCounts, MemoryEvent
from .memory_log import log_dropped
from .memory_swaps import Swap, send_swaps, version_of
from .memory_values import Held, Look, MemoryRules, Owner

log = logging.getLogger("symposia.state.memory")

#: What is raised when Redis is away, in one way or another.
AWAY: Final = (RedisError, StateError, OSError)
#: A consent is kept for a year after it was given or used.
SHARING_TTL_MS = 365 * 86_400_000
#: Times a change is made again because somebody else was faster, before it is given up.
_MAX_TRIES = 1_000


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
        pipeline.execute_command("TIME")  # type: ignore[no-untyped-call]  # also where the memory is in a cluster
        pipeline.get(room_key)
        pipeline.get(shared_key)
        time, room, shared = pipeline.execute(raise_on_error=False)
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
            shared_key = self.shared_key(owner.user)
            answers, shared = send_swaps(self.client, swaps, then_read=shared_key)
            self._count_evicted(swaps, answers)
            look = self._looked_again(look, swaps, answers)
            # A consent given since `look` covers this write, too: whoever gave it may have read the room before.
            consent = self._read_sharing(shared_key, shared)
            is_new = consent.value.allowed != look.sharing.value.allowed
            look = replace(look, sharing=consent) if is_new else look
            if not is_new and all(answer is None for answer in answers):
                return look
        raise ScriptError("memory_swap", f"others were faster {_MAX_TRIES} times")

    def change_sharing(self, user: str, change: Callable[[Sharing], Sharing]) -> None:
        """Changes a consent, again if somebody else was faster; one that allows nothing is removed."""
        for _ in range(_MAX_TRIES):
            look = self.look(Owner(user, ""))
            sharing = change(look.sharing.value)
            sharing = replace(sharing, state=fitted(sharing.state, max_bytes=self.rules.max_bytes).state)
            text = write_sharing(sharing) if sharing.allowed else ""
            swap = Swap(self.shared_key(user), look.sharing.version, text, SHARING_TTL_MS, sharing)
            if send_swaps(self.client, [swap])[0] == [None]:
                return
        raise ScriptError("memory_swap", f"others were faster {_MAX_TRIES} times")

    def rooms(self, user: str) -> list[str]:
        """The rooms of which a user has a memory, sorted; one where all is forgotten has one for a while.

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
            held = Held(read_state(_text(raw)), version_of(_text(raw)))
        except CorruptMemory as error:
            self._drop(key, raw, MemoryEvent.CORRUPT, error.detail)
            return Held(MemoryState())
        if held.value.is_expired(now_ms, ttl_ms=self.rules.ttl_ms):
            self._drop(key, raw, MemoryEvent.EXPIRED, "it is older than its time to live")
            return Held(MemoryState())
        return held

    def _read_sharing(self, key: str, raw: object) -> Held[Sharing]:
        try:
            return Held(Sharing()) if raw is None else Held(read_sharing(_text(raw)), version_of(_text(raw)))
        except CorruptMemory as error:
            self._drop(key, raw, MemoryEvent.CORRUPT, error.detail)
            return Held(Sharing())

    def _drop(self, key: str, raw: object, event: MemoryEvent, why: str) -> None:
        """Removes what was read, unless it has been replaced since."""
        log_dropped(key, why)
        self.counts.count(event)
        if isinstance(raw, str):
            send_swaps(self.client, [Swap(key, version_of(raw), "", 0, MemoryState())])
        else:
            self.client.delete(key)

    def _looked_again(self, look: Look, swaps: Sequence[Swap], answers: Sequence[str | None]) -> Look:
        """What was seen, with what has been written since, by this writer or another."""
        for swap, answer in zip(swaps, answers, strict=True):
            if isinstance(swap.value, MemoryState):
                mine = Held(swap.value, version_of(swap.text))
                there = self._read_room(swap.key, answer or None, look.now_ms)
                look = replace(look, room=mine if answer is None else there)
            else:
                shared = Held(swap.value, version_of(swap.text))
                others = self._read_sharing(swap.key, answer or None)
                look = replace(look, sharing=shared if answer is None else others)
        return look

    # -- writing -------------------------------------------------------------------------------

    def _swaps(
        self, owner: Owner, statements: Sequence[Statement], writer: Writer, *, look: Look, slides: bool
    ) -> list[Swap]:
        swaps = []
        after = _room_after(look, statements, writer)
        if after is not None:
            fit, version = fitted(after, max_bytes=self.rules.max_bytes), look.room.version
            # Only what is there has a time to live that could stay as it is.
            ttl_ms = self.rules.ttl_ms if slides or not version else 0
            swaps.append(Swap(self.key(owner), version, fit.text, ttl_ms, fit.state, len(fit.evicted)))
        covered = [statement for statement in statements if look.sharing.value.covers(statement)]
        if covered:
            sharing = look.sharing.value.after(covered)
            state = signed(sharing.state, replace(writer, messages=0))
            sharing = replace(sharing, state=fitted(state, max_bytes=self.rules.max_bytes).state)
            key, version = self.shared_key(owner.user), look.sharing.version
            swaps.append(Swap(key, version, write_sharing(sharing), SHARING_TTL_MS, sharing))
        return swaps

    def _count_evicted(self, swaps: Sequence[Swap], answers: Sequence[str | None]) -> None:
        made = (swap for swap, answer in zip(swaps, answers, strict=True) if answer is None)
        evicted = sum(swap.evicted for swap in made)
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
