"""Sharing between rooms: the parameters that a user allows, and their newest values in any room.

Nothing is carried between rooms unless the user asked for it, parameter by parameter; those
of a service such as payment never are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ..models.errors import CorruptMemory, InvalidInput
from ..models.memory.parameters import check_name, to_compact_json
from ..models.memory.services import find_service
from ..models.memory.state import MemoryState, ServiceMemory
from .merge import Statement, apply_statement
from .wire_form import read_state, write_state

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
            name: known
            for name, known in self.state.service_memory(service).parameters.items()
            if f"{service}.{name}" in self.allowed and now_ms - known.at_ms <= ttl_ms
        }
        return ServiceMemory(kept)

    def with_room_values(self, rooms: Iterable[MemoryState]) -> SharingConsent:
        """Return the same consent with what these rooms remember already; of several values the newest one holds."""
        return self.apply_statements(
            Statement(service, known.at_ms, {name: known}, selects=False)
            for room in rooms
            for service, name, known in room.all_parameters()
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
            kept = {n: known for n, known in shelf.parameters.items() if f"{service}.{n}" in allowed}
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
    known = find_service(service)
    check_name(parameter)
    if not known.shareable:
        raise InvalidInput(
            "share", name, f"must be a parameter of a service that allows sharing: {service} does not"
        )
    return name
