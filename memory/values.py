"""Arguments and results of the dialog memory store, and the compare-and-set of stored memories."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from typing import Any, Generic, TypeVar

from redis import Redis
from redis.exceptions import NoScriptError, ResponseError

from ..models.errors import InvalidInput, ScriptError
from ..models.memory.parameters import room_key, user_key
from ..models.memory.state import MemoryState
from ..state.redis.cluster import ClusterClient
from ..state.redis.scripts import load_script
from .capping import MIN_BYTES
from .sharing import SharingConsent

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MemoryRules:
    """Rules for the storage of memories."""

    #: Seconds from the last write until the memory expires.
    ttl_s: int = 21_600
    #: Maximum bytes (UTF-8) of one stored memory.
    max_bytes: int = 10_000
    #: Whether all memories of a user share a cluster slot.
    hash_tag: bool = False

    def __post_init__(self) -> None:
        if self.ttl_s < 1:
            raise InvalidInput("ttl_s", self.ttl_s, "must be at least 1 second")
        if self.max_bytes < MIN_BYTES:
            raise InvalidInput("max_bytes", self.max_bytes, f"must be at least {MIN_BYTES} bytes")

    @property
    def ttl_ms(self) -> int:
        """Return the time to live in milliseconds."""
        return self.ttl_s * 1000


@dataclass(frozen=True, slots=True)
class Owner:
    """Owner of a memory: a user in a room."""

    user: str
    room: str

    @classmethod
    def from_ids(cls, user_id: object, room_id: object) -> Owner | None:
        """Return the owner; None without a user or room: nothing is stored.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        user, room = user_key(user_id), room_key(room_id)
        return None if user is None or room is None else cls(user, room)


@dataclass(frozen=True, slots=True)
class Versioned(Generic[T]):
    """A value that was read; `version` is the SHA-1 of its text, empty if there was none."""

    value: T
    version: str = ""


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """A memory at one moment."""

    #: Time of the read: milliseconds since the epoch, by the server's clock.
    now_ms: int
    room: Versioned[MemoryState] = field(default_factory=lambda: Versioned(MemoryState()))
    #: Parameters that the user shares with other rooms.
    sharing: Versioned[SharingConsent] = field(default_factory=lambda: Versioned(SharingConsent()))
    #: True if Redis was unavailable: the memory may be incomplete.
    degraded: bool = False

    @property
    def stamp_ms(self) -> int:
        """Return the timestamp (milliseconds) of a statement made after this read."""
        return self.room.value.stamp(self.now_ms)


class SnapshotCache:
    """The newest read of each memory in this process. The next write starts from it, even if it is outdated."""

    def __init__(self, *, size: int = 1_024) -> None:
        self._size = size
        self._looks: OrderedDict[Owner, MemorySnapshot] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, owner: Owner, look: MemorySnapshot) -> None:
        """Store the newest read of a memory."""
        with self._lock:
            self._looks[owner] = look
            self._looks.move_to_end(owner)
            while len(self._looks) > self._size:
                self._looks.popitem(last=False)

    def get(self, owner: Owner) -> MemorySnapshot | None:
        """Return the newest read of a memory."""
        with self._lock:
            return self._looks.get(owner)


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
    evicted: int = 0


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
