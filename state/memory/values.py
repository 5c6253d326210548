"""Arguments and results of the dialog memory store."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ...models.errors import InvalidInput
from ...models.memory.capping import MIN_BYTES
from ...models.memory.parameters import room_key, user_key
from ...models.memory.sharing import SharingConsent
from ...models.memory.state import MemoryState

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
        """Return the owner; None without a user or room: nothing is stored. Raises InvalidInput."""
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
