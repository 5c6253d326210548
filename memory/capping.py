"""The size cap: the oldest parameters are evicted first; a parameter too large for the whole memory is refused.

Source: dialog state document, section 2 (`DIALOG_STATE_MAX_SIZE_BYTES`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pydantic import JsonValue

from ..models.memory.learned import Learned
from ..models.memory.parameters import size_bytes, to_compact_json
from ..models.memory.state import MemoryState, RememberedValue, ServiceMemory
from .merge import Statement, with_cutoff
from .wire_form import write_state

#: The least cap: what a state needs besides its parameters fits into it.
MIN_BYTES = 2_048


@dataclass(frozen=True, slots=True)
class CappedState:
    """A state within the cap, as stored."""

    state: MemoryState
    text: str
    #: `service.name` of the evicted parameters.
    evicted: tuple[str, ...] = ()


def oversized_parameters(statement: Statement, *, max_bytes: int) -> tuple[str, ...]:
    """Return names of the parameters that would not fit even into a memory of their own."""
    names = []
    for name, known in statement.parameters.items():
        # Short values are not measured.
        if (
            size_bytes(to_compact_json(known.value)) > max_bytes // 2
            and _size_alone(statement, name, known) > max_bytes
        ):
            names.append(name)
    return tuple(names)


def cap_learned(learned: Learned, *, max_bytes: int) -> tuple[Learned, tuple[str, ...]]:
    """Return the part that fits into a memory of this size, the first parameters first, and the names left out.

    The part is stored with the result of the turn, so it must be short.
    """
    room_bytes, left_out = max_bytes, []
    kept: dict[str, dict[str, JsonValue]] = {}
    for part, values in (("parameters", learned.parameters), ("inferred", learned.inferred)):
        kept[part] = {}
        for name, value in values.items():
            size = size_bytes(to_compact_json(name)) + size_bytes(to_compact_json(value))
            if size > room_bytes:
                left_out.append(name)
            else:
                kept[part][name] = value
                room_bytes -= size
    return (learned.model_copy(update=kept) if left_out else learned), tuple(left_out)


def _size_alone(statement: Statement, name: str, known: RememberedValue) -> int:
    state = MemoryState(
        service=statement.service, service_memories={statement.service or "": ServiceMemory({name: known})}
    )
    # Half of the least cap is for metadata.
    return size_bytes(write_state(state)) + MIN_BYTES // 2


def cap_state(state: MemoryState, *, max_bytes: int) -> CappedState:
    """Return the state within the cap of `max_bytes` bytes; the oldest parameters are removed first."""
    text = write_state(state)
    if size_bytes(text) <= max_bytes:
        return CappedState(state, text)
    if any(shelf.forgotten for shelf in state.service_memories.values()):
        tombs = (at_ms for shelf in state.service_memories.values() for at_ms in shelf.forgotten.values())
        return cap_state(with_cutoff(state, max(tombs)), max_bytes=max_bytes)
    oldest = sorted(state.all_parameters(), key=lambda entry: entry[2].at_ms)
    evicted: list[tuple[str, str]] = []
    excess = size_bytes(text) - max_bytes
    while excess > 0 and oldest:
        service, name, known = oldest.pop(0)
        evicted.append((service, name))
        excess -= size_bytes(to_compact_json(known.value)) + size_bytes(to_compact_json(name))
        if excess <= 0:
            state = _without(state, evicted)
            text = write_state(state)
            excess = size_bytes(text) - max_bytes
    if excess > 0:
        state = replace(
            _without(state, evicted), sessions=state.sessions[-1:], write_marks=state.write_marks[-1:]
        )
        text = write_state(state)
    return CappedState(state, text, tuple(f"{service}.{name}" for service, name in evicted))


def _without(state: MemoryState, gone: Iterable[tuple[str, str]]) -> MemoryState:
    gone = set(gone)
    shelves = {
        service: ServiceMemory(
            {n: known for n, known in shelf.parameters.items() if (service, n) not in gone}
        )
        for service, shelf in state.service_memories.items()
    }
    return replace(
        state, service_memories={name: shelf for name, shelf in shelves.items() if shelf.parameters}
    )
