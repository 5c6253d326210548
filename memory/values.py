"""Arguments and results of the dialog memory store: rules, owner, what was read, and what a user shares between rooms.

Nothing is carried between rooms unless the user asked for it, parameter by parameter; those
of a service such as payment never are.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from ..models.errors import CorruptMemory, InvalidInput
from ..models.memory.parameters import check_name, room_key, to_compact_json, user_key
from ..models.memory.services import find_service
from ..models.memory.state import MemoryState, ServiceMemory
from .merge import Statement, apply_statement
from .wire_form import MIN_BYTES, read_state, write_state

#: Parameters a user may share: every turn of theirs reads the list.
MAX_SHARED = 100


@dataclass(frozen=True, slots=True)
class SharingConsent:
    """A user's consent, and what it covers."""

    #: `service.name`
    allowed: frozenset[str] = frozenset()
    state: MemoryState = field(default_factory=MemoryState)

    def covers(self, statement: Statement) -> bool:
        """Return whether anything of a statement is for other rooms, too."""
        names = (*statement.parameters, *statement.forget)
        return any(f"{statement.service}.{name}" in self.allowed for name in names)

    def apply_statements(self, statements: Iterable[Statement]) -> SharingConsent:
        """Return the shared values after these statements."""
        state = self.state
        for statement in statements:
            mine = {
                n: k for n, k in statement.parameters.items() if f"{statement.service}.{n}" in self.allowed
            }
            gone = tuple(n for n in statement.forget if f"{statement.service}.{n}" in self.allowed)
            if mine or gone:
                state = apply_statement(state, replace(statement, parameters=mine, forget=gone))
        return replace(self, state=state)

    def service_memory(self, service: str | None, *, now_ms: int, ttl_ms: int) -> ServiceMemory:
        """Return the parameters of a service that another room may see now: allowed and not expired."""
        kept = {
            name: remembered
            for name, remembered in self.state.service_memory(service).parameters.items()
            if f"{service}.{name}" in self.allowed and now_ms - remembered.at_ms <= ttl_ms
        }
        return ServiceMemory(kept)

    def with_room_values(self, rooms: Iterable[MemoryState]) -> SharingConsent:
        """Return the same consent with what these rooms remember already; of several values the newest one holds."""
        return self.apply_statements(
            Statement(service, remembered.at_ms, {name: remembered}, selects=False)
            for room in rooms
            for service, name, remembered in room.all_parameters()
        )

    def with_parameters(self, names: Iterable[str]) -> SharingConsent:
        """Return the consent with these parameters added.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        allowed = self.allowed.union(map(_checked, names))
        if len(allowed) > MAX_SHARED:
            raise InvalidInput("share", len(allowed), f"must be at most {MAX_SHARED} parameters")
        return replace(self, allowed=allowed)

    def without_parameters(self, names: Iterable[str] | None = None) -> SharingConsent:
        """Return the consent without these parameters and their values; None: without any."""
        allowed = frozenset() if names is None else self.allowed.difference(names)
        shelves = {}
        for service, shelf in self.state.service_memories.items():
            kept = {
                n: remembered for n, remembered in shelf.parameters.items() if f"{service}.{n}" in allowed
            }
            if kept:
                shelves[service] = ServiceMemory(kept, shelf.forgotten)
        return SharingConsent(allowed, replace(self.state, service_memories=shelves))


def write_sharing(sharing: SharingConsent) -> str:
    """Return a consent as stored."""
    return to_compact_json(
        {"allowed": sorted(sharing.allowed), "memory": json.loads(write_state(sharing.state))}
    )


def read_sharing(text: str) -> SharingConsent:
    """Return the stored consent.

    Raises:
        CorruptMemory: The stored memory is invalid.
    """
    try:
        data = json.loads(text)
        allowed, memory = data["allowed"], data["memory"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CorruptMemory(type(error).__name__) from error
    if not isinstance(allowed, list):
        raise CorruptMemory("allowed")
    return SharingConsent(frozenset(map(str, allowed)), read_state(to_compact_json(memory)))


def _checked(name: str) -> str:
    service, _, parameter = name.partition(".")
    known_service = find_service(service)
    check_name(parameter)
    if not known_service.shareable:
        raise InvalidInput(
            "share", name, f"must be a parameter of a service that allows sharing: {service} does not"
        )
    return name


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
