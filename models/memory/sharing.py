"""Sharing between rooms: the parameters that a user allows, and their newest values in any room.

Nothing is carried between rooms unless the user asked for it, parameter by parameter; those
of a service such as payment never are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ..errors import CorruptMemory, InvalidInput
from .merge import Statement, applied
from .services import service_named
from .state import MemoryState, Shelf
from .values import check_name, compact
from .wire_form import read_state, write_state

#: Parameters a user may share: every turn of theirs reads the list.
MAX_SHARED = 100


@dataclass(frozen=True, slots=True)
class Sharing:
    """A user's consent, and what it covers."""

    #: `service.name`
    allowed: frozenset[str] = frozenset()
    state: MemoryState = field(default_factory=MemoryState)

    def covers(self, statement: Statement) -> bool:
        """Return whether anything of a statement is for other rooms, too."""
        names = (*statement.parameters, *statement.forget)
        return any(f"{statement.service}.{name}" in self.allowed for name in names)

    def after(self, statements: Iterable[Statement]) -> Sharing:
        """Return the shared values after these statements."""
        state = self.state
        for statement in statements:
            mine = {
                n: k for n, k in statement.parameters.items() if f"{statement.service}.{n}" in self.allowed
            }
            gone = tuple(n for n in statement.forget if f"{statement.service}.{n}" in self.allowed)
            if mine or gone:
                state = applied(state, replace(statement, parameters=mine, forget=gone))
        return replace(self, state=state)

    def shelf(self, service: str | None, *, now_ms: int, ttl_ms: int) -> Shelf:
        """Return the parameters of a service that another room may see now: allowed and not expired."""
        kept = {
            name: known
            for name, known in self.state.shelf(service).parameters.items()
            if f"{service}.{name}" in self.allowed and now_ms - known.at_ms <= ttl_ms
        }
        return Shelf(kept)

    def knowing(self, rooms: Iterable[MemoryState]) -> Sharing:
        """Return the same consent with what these rooms remember already; of several values the newest one holds."""
        return self.after(
            Statement(service, known.at_ms, {name: known}, selects=False)
            for room in rooms
            for service, name, known in room.all_parameters()
        )

    def adding(self, names: Iterable[str]) -> Sharing:
        """Return the consent with these parameters added. Raises InvalidInput."""
        allowed = self.allowed.union(map(_checked, names))
        if len(allowed) > MAX_SHARED:
            raise InvalidInput("share", len(allowed), f"must be at most {MAX_SHARED} parameters")
        return replace(self, allowed=allowed)

    def without(self, names: Iterable[str] | None = None) -> Sharing:
        """Return the consent without these parameters and their values; None: without any."""
        allowed = frozenset() if names is None else self.allowed.difference(names)
        shelves = {}
        for service, shelf in self.state.shelves.items():
            kept = {n: known for n, known in shelf.parameters.items() if f"{service}.{n}" in allowed}
            if kept:
                shelves[service] = Shelf(kept, shelf.forgotten)
        return Sharing(allowed, replace(self.state, shelves=shelves))


def write_sharing(sharing: Sharing) -> str:
    """Return a consent as stored."""
    return compact({"allowed": sorted(sharing.allowed), "memory": json.loads(write_state(sharing.state))})


def read_sharing(text: str) -> Sharing:
    """Return the stored consent. Raises CorruptMemory."""
    try:
        data = json.loads(text)
        allowed, memory = data["allowed"], data["memory"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CorruptMemory(type(error).__name__) from error
    if not isinstance(allowed, list):
        raise CorruptMemory("allowed")
    return Sharing(frozenset(map(str, allowed)), read_state(compact(memory)))


def _checked(name: str) -> str:
    service, _, parameter = name.partition(".")
    known = service_named(service)
    check_name(parameter)
    if not known.shareable:
        raise InvalidInput(
            "share", name, f"must not belong to {service}, which cannot be shared with other rooms"
        )
    return name
