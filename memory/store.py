"""Dialog memories in Redis: one round trip per read and per write, without lost updates.

A write replaces the text that was read only if it is unchanged (`memory/swap.lua`). After a concurrent
write the answer contains the new text, and the write is repeated from it. The rules of merging are in
`models.memory`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha1
from typing import Any, Final

from redis import Redis
from redis.exceptions import NoScriptError, RedisError, ResponseError

from ..models.errors import CorruptMemory, ScriptError, StateError
from ..models.memory.state import MemoryState
from ..state.redis.cluster import ClusterClient
from ..state.redis.keys import memory_key, sharing_key
from ..state.redis.readers import time_ms
from ..state.redis.scripts import load_script
from .merge import Statement, WriteMetadata, apply_statement, with_write_metadata
from .monitoring import MemoryCounts, MemoryEvent, log_dropped, log_evicted
from .values import (
    MemoryRules,
    MemorySnapshot,
    Owner,
    SharingConsent,
    T,
    Versioned,
    read_sharing,
    write_sharing,
)
from .wire_form import cap_state, oversized_parameters, read_state

log = logging.getLogger("symposia.state.memory.rooms")

#: Exceptions of an unavailable Redis.
REDIS_ERRORS: Final = (RedisError, StateError, OSError)
#: Milliseconds for which a consent is kept after it was given or last used: a year.
SHARING_TTL_MS = 365 * 86_400_000
#: Maximum attempts of a write that is repeated because of concurrent writes.
_MAX_TRIES = 1_000


@dataclass(frozen=True, slots=True)
class Swap:
    """Replacement of a text, applied only if the text is still the one that was read."""

    key: str
    #: SHA-1 of the text that was read; empty: there was none.
    version: str
    #: New text; empty: the key is removed.
    text: str
    #: TTL in milliseconds; 0: unchanged.
    ttl_ms: int
    #: The value in the text.
    value: MemoryState | SharingConsent
    #: `service.name` of the parameters that are removed to make room.
    evicted: tuple[str, ...] = ()


def version_of(text: str) -> str:
    """Return the SHA-1 of a text."""
    return sha1(text.encode(), usedforsecurity=False).hexdigest()


def send_swaps(
    client: Redis, swaps: Sequence[Swap], *, then_read: str | None = None
) -> tuple[list[str | None], object]:
    """Send the swaps, then read one more key, in one round trip.

    Returns:
        For each swap None if it was made, otherwise the current text (empty: no text); and the answer to the
        GET of `then_read`.

    Raises:
        RedisError, StateError: The server does not answer, or a script failed.
    """
    script = load_script("memory/swap")
    answers = _sent(client, "EVALSHA", script.sha, swaps, then_read)
    if any(isinstance(answer, NoScriptError) for answer in answers):
        answers = _sent(client, "EVAL", script.text, swaps, then_read)
    swapped = answers[: len(swaps)]
    for answer in swapped:
        if isinstance(answer, ResponseError):
            raise ScriptError(script.verb, str(answer)) from answer
    there = [None if answer[0] == "swapped" else answer[1] for answer in swapped]
    return there, answers[-1] if then_read else None


def _sent(
    client: Redis, command: str, script: str, swaps: Sequence[Swap], then_read: str | None
) -> list[Any]:
    pipeline: Any = client.pipeline(transaction=False)
    for swap in swaps:
        pipeline.execute_command(command, script, 1, swap.key, swap.version, swap.text, swap.ttl_ms)
    # The nodes of a cluster answer in any order, but the value must be read after the swaps.
    is_apart = isinstance(client, ClusterClient)
    if then_read and not is_apart:
        pipeline.get(then_read)
    answers: list[Any] = pipeline.execute(raise_on_error=False)
    return [*answers, client.get(then_read)] if then_read and is_apart else answers


class MemoryStore:
    """Dialog memories in one Redis. The client must decode responses."""

    def __init__(self, client: Redis, rules: MemoryRules) -> None:
        self.client = client
        self.rules = rules
        self.counts = MemoryCounts(client)

    def key(self, owner: Owner) -> str:
        """Return the key of a memory."""
        return memory_key(owner.user, owner.room, hash_tag=self.rules.hash_tag)

    def shared_key(self, user: str) -> str:
        """Return the key of a user's parameters for other rooms."""
        return sharing_key(user, hash_tag=self.rules.hash_tag)

    def read(self, owner: Owner) -> MemorySnapshot:
        """Return the current memory, in one round trip. A corrupt or expired memory is dropped and read as empty.

        Raises:
            RedisError, StateError: The server does not answer.
        """
        room_key, shared_key = self.key(owner), self.shared_key(owner.user)
        pipeline = self.client.pipeline(transaction=False)
        pipeline.execute_command("TIME")  # type: ignore[no-untyped-call]  # also works for a cluster
        pipeline.get(room_key)
        pipeline.get(shared_key)
        time, room, shared = pipeline.execute(raise_on_error=False)
        self.counts.flush()
        now_ms = time_ms(time)
        return MemorySnapshot(
            now_ms, self._read_room(room_key, room, now_ms), self._read_sharing(shared_key, shared)
        )

    def ttl_left_ms(self, owner: Owner) -> int:
        """Return the milliseconds until a memory expires; 0 if there is none."""
        return max(int(self.client.pttl(self.key(owner))), 0)

    def write(
        self,
        owner: Owner,
        statements: Sequence[Statement],
        writer: WriteMetadata,
        *,
        look: MemorySnapshot,
        slides: bool = True,
    ) -> MemorySnapshot:
        """Add statements to the memory in `look`, in one round trip and one more for each concurrent write.

        Args:
            owner: The owner of the memory.
            statements: The statements, oldest first.
            writer: Mark of the write; if the memory has this mark already, nothing changes.
            look: The memory that was read.
            slides: Whether the time to live restarts; a write that only forgets keeps the old one.

        Returns:
            The current memory: `look` itself if there was nothing to write.
        """
        small = [self._small_enough(statement) for statement in statements]
        if small != list(statements) and not any(
            statement.parameters or statement.forget for statement in small
        ):
            return look
        for _ in range(_MAX_TRIES):
            swaps = self._swaps(owner, small, writer, look=look, slides=slides)
            if not swaps:
                return look
            shared_key = self.shared_key(owner.user)
            answers, shared = send_swaps(self.client, swaps, then_read=shared_key)
            self._count_evicted(swaps, answers)
            look = self._apply_answers(look, swaps, answers)
            # A consent given after `look` also covers this write: `share` may have read the room before it.
            consent = self._read_sharing(shared_key, shared)
            is_new = consent.value.allowed != look.sharing.value.allowed
            look = replace(look, sharing=consent) if is_new else look
            if not is_new and all(answer is None for answer in answers):
                return look
        raise _too_many_conflicts()

    def change_sharing(self, user: str, change: Callable[[SharingConsent], SharingConsent]) -> None:
        """Change a consent; retry after a concurrent write. An empty consent is removed."""
        for _ in range(_MAX_TRIES):
            look = self.read(Owner(user, ""))
            sharing = change(look.sharing.value)
            fit = cap_state(sharing.state, max_bytes=self.rules.max_bytes)
            sharing = replace(sharing, state=fit.state)
            text = write_sharing(sharing) if sharing.allowed else ""
            key, version = self.shared_key(user), look.sharing.version
            swap = Swap(key, version, text, SHARING_TTL_MS, sharing, fit.evicted)
            answers = send_swaps(self.client, [swap])[0]
            self._count_evicted([swap], answers)
            if answers == [None]:
                return
        raise _too_many_conflicts()

    def rooms(self, user: str) -> list[str]:
        """Return the rooms with a memory of the user, sorted. A completely forgotten room is listed until it expires.

        Scans all keys of the server, page by page; do not use it in turns.
        """
        prefix = memory_key(user, "", hash_tag=self.rules.hash_tag)
        pattern = re.sub(r"([*?\[\]\\])", r"\\\1", prefix) + "*"
        return sorted({key.removeprefix(prefix) for key in self.client.scan_iter(pattern, count=1_000)})

    # -- reading -------------------------------------------------------------------------------

    def _read_room(self, key: str, raw: object, now_ms: int) -> Versioned[MemoryState]:
        held = self._parse(key, raw, read_state, MemoryState())
        if held.version and held.value.is_expired(now_ms, ttl_ms=self.rules.ttl_ms):
            self._drop(key, raw, MemoryEvent.EXPIRED, "expired")
            return Versioned(MemoryState())
        return held

    def _read_sharing(self, key: str, raw: object) -> Versioned[SharingConsent]:
        return self._parse(key, raw, read_sharing, SharingConsent())

    def _parse(self, key: str, raw: object, read: Callable[[str], T], empty: T) -> Versioned[T]:
        """Return the value of a GET answer; a corrupt one is dropped and read as empty."""
        if raw is None:
            return Versioned(empty)
        try:
            if not isinstance(raw, str):
                raise CorruptMemory("the key does not contain text")
            return Versioned(read(raw), version_of(raw))
        except CorruptMemory as error:
            self._drop(key, raw, MemoryEvent.CORRUPT, error.detail)
            return Versioned(empty)

    def _drop(self, key: str, raw: object, event: MemoryEvent, why: str) -> None:
        """Remove the text that was read, unless it has been replaced since."""
        log_dropped(key, why)
        self.counts.count(event)
        if isinstance(raw, str):
            send_swaps(self.client, [Swap(key, version_of(raw), "", 0, MemoryState())])
        else:
            self.client.delete(key)

    def _apply_answers(
        self, look: MemorySnapshot, swaps: Sequence[Swap], answers: Sequence[str | None]
    ) -> MemorySnapshot:
        """Return the memory after the swaps, with concurrent writes."""
        for swap, answer in zip(swaps, answers, strict=True):
            if isinstance(swap.value, MemoryState):
                mine = Versioned(swap.value, version_of(swap.text))
                there = self._read_room(swap.key, answer or None, look.now_ms)
                look = replace(look, room=mine if answer is None else there)
            else:
                shared = Versioned(swap.value, version_of(swap.text))
                others = self._read_sharing(swap.key, answer or None)
                look = replace(look, sharing=shared if answer is None else others)
        return look

    # -- writing -------------------------------------------------------------------------------

    def _swaps(
        self,
        owner: Owner,
        statements: Sequence[Statement],
        writer: WriteMetadata,
        *,
        look: MemorySnapshot,
        slides: bool,
    ) -> list[Swap]:
        swaps = []
        after = _room_after(look, statements, writer)
        if after is not None:
            fit, version = cap_state(after, max_bytes=self.rules.max_bytes), look.room.version
            # Only an existing key has a TTL that can be kept.
            ttl_ms = self.rules.ttl_ms if slides or not version else 0
            swaps.append(Swap(self.key(owner), version, fit.text, ttl_ms, fit.state, fit.evicted))
        covered = [statement for statement in statements if look.sharing.value.covers(statement)]
        if covered:
            sharing = look.sharing.value.apply_statements(covered)
            state = with_write_metadata(sharing.state, replace(writer, messages=0))
            shared_fit = cap_state(state, max_bytes=self.rules.max_bytes)
            sharing = replace(sharing, state=shared_fit.state)
            key, version = self.shared_key(owner.user), look.sharing.version
            text = write_sharing(sharing)
            swaps.append(Swap(key, version, text, SHARING_TTL_MS, sharing, shared_fit.evicted))
        return swaps

    def _count_evicted(self, swaps: Sequence[Swap], answers: Sequence[str | None]) -> None:
        for swap, answer in zip(swaps, answers, strict=True):
            if answer is None and swap.evicted:
                log_evicted(swap.key, swap.evicted)
                self.counts.count(MemoryEvent.EVICTED, len(swap.evicted))

    def _small_enough(self, statement: Statement) -> Statement:
        refused = oversized_parameters(statement, max_bytes=self.rules.max_bytes)
        if not refused:
            return statement
        log.warning(
            "dialog memory: %s of service %s exceeds the size limit and is not stored",
            ", ".join(refused),
            statement.service,
        )
        self.counts.count(MemoryEvent.TOO_LARGE, len(refused))
        small = {name: remembered for name, remembered in statement.parameters.items() if name not in refused}
        return replace(statement, parameters=small)


def _room_after(
    look: MemorySnapshot, statements: Sequence[Statement], writer: WriteMetadata
) -> MemoryState | None:
    """Return the memory with the statements added; None if it has them already, or if nothing is to be stored."""
    before = look.room.value
    if writer.mark in before.write_marks:
        return None
    after = before
    for statement in statements:
        after = apply_statement(after, statement)
    is_empty = not (after.service_memories or after.cutoff_ms or look.room.version)
    return None if is_empty else with_write_metadata(after, writer)


def _too_many_conflicts() -> ScriptError:
    return ScriptError("memory/swap", f"{_MAX_TRIES} conflicts with concurrent changes in a row; try again")
