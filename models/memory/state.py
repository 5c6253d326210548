"""State of the memory of one user in one room.

Each parameter carries the stamp of the turn that set it. With writes in any order
the newest statement wins, and what was forgotten stays forgotten. Stamps are milliseconds
of the server's clock, moved forward where needed so that a turn that read a statement is later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import JsonValue

#: Maximum number of sessions in a state; the oldest are removed first.
MAX_SESSIONS = 8
#: Writes a state remembers, so that one that is repeated changes nothing.
MAX_WRITES = 16
#: Maximum number of forgotten parameters kept by name; the oldest are replaced by a cutoff for all
#: parameters.
MAX_FORGOTTEN = 32


class Source(StrEnum):
    """Source of a parameter."""

    SAID = "said"
    INFERRED = "inferred"
    #: From an earlier session, or another room.
    CARRIED = "carried"
    #: Not stated: the default.
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class RememberedValue:
    """One parameter as it was set."""

    value: JsonValue
    #: Stamp of the turn that set it.
    at_ms: int
    source: Source = Source.SAID
    #: 0..1, when it was set.
    confidence: float = 1.0
    #: The session it was set in; empty: by a program, or unknown.
    session: str = ""
    turn: int = 0


@dataclass(frozen=True, slots=True)
class ServiceMemory:
    """Remembered parameters of one service."""

    parameters: Mapping[str, RememberedValue] = field(default_factory=dict)
    #: Name -> stamp: nothing at or before it fills this parameter again.
    forgotten: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemoryState:
    """All that is remembered of one user in one room."""

    #: The service that was spoken of last.
    service: str | None = None
    #: Stamp of the last turn that mentioned it.
    selected_ms: int = 0
    #: Their session; empty: a program.
    selected_by: str = ""
    #: Service -> what is remembered for it, side by side.
    service_memories: Mapping[str, ServiceMemory] = field(default_factory=dict)
    #: When it was written last, by the server's clock.
    timestamp_ms: int = 0
    last_updated_by: str = ""
    message_count: int = 0
    conversation_id: str = ""
    #: The newest sessions that wrote here, oldest first.
    sessions: tuple[str, ...] = ()
    #: Marks of the newest writes, oldest first.
    write_marks: tuple[str, ...] = ()
    #: Everything at or before this stamp is forgotten.
    cutoff_ms: int = 0

    @property
    def is_blank(self) -> bool:
        """True if nothing is remembered: no service, and no parameter."""
        return self.service is None and not any(
            service_memory.parameters for service_memory in self.service_memories.values()
        )

    def service_memory(self, service: str | None) -> ServiceMemory:
        """Return the remembered parameters of a service; an empty `ServiceMemory` if there are none."""
        return self.service_memories.get(service or "", _EMPTY)

    def values(self, service: str | None = None) -> dict[str, JsonValue]:
        """Return parameters of a service (default: the current one), by name."""
        service_memory = self.service_memory(service or self.service)
        return {name: remembered.value for name, remembered in service_memory.parameters.items()}

    def all_parameters(self) -> Iterator[tuple[str, str, RememberedValue]]:
        """Yield service, name and value of every parameter."""
        for service, service_memory in self.service_memories.items():
            for name, remembered in service_memory.parameters.items():
                yield service, name, remembered

    def service_of_session(self, session: str) -> str | None:
        """Return the service for which a session's own message is remembered; None: it is not."""
        mine = (
            service
            for service, _, remembered in self.all_parameters()
            if remembered.session == session and not remembered.turn
        )
        return next(mine, None) if session else None

    def newest_ms(self) -> int:
        """Return the newest stamp in it."""
        set_ms = (remembered.at_ms for _, _, remembered in self.all_parameters())
        forgotten_ms = (
            at_ms
            for service_memory in self.service_memories.values()
            for at_ms in service_memory.forgotten.values()
        )
        return max(self.cutoff_ms, self.selected_ms, *set_ms, *forgotten_ms, 0)

    def stamp(self, now_ms: int) -> int:
        """Return the stamp of a turn that has read this state now: later than anything it has seen, though the
        server's clock went back.
        """
        return max(now_ms, self.newest_ms() + 1)

    def is_expired(self, now_ms: int, *, ttl_ms: int) -> bool:
        """Return whether it is older than its time to live, independent of the TTL of its key."""
        return now_ms - self.timestamp_ms > ttl_ms


_EMPTY = ServiceMemory()
