"""The stored form of a memory: JSON, with the documented fields at the top.

    {"timestamp": 1707129000.0, "service": "travel", "parameters": {...},
     "metadata": {"last_updated_by": ..., "message_count": 5, "conversation_id": ..., "updated_at": ...},
     "notes": {"from": {"at": 1707129000000, "session": "...", "turn": 1}},
     "forgotten": {"to": 1707129000000}, "others": {"payment": {"parameters": ..., "notes": ...}},
     "sessions": [...], "written": [...], "selected": 1707129000000, "selected_by": "...", "floor": 0}

The first four are the document's; what the later ones hold may be missing, so a state that
another program wrote in the documented form is read as well.

A memory has a size cap: the oldest parameters are evicted first; a parameter too large for the whole memory is refused.

Source: dialog state document, sections 2 (`DIALOG_STATE_MAX_SIZE_BYTES`) and 3 ("Dialog State Schema").
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from pydantic import JsonValue

from ..models.errors import CorruptMemory
from ..models.memory.learned import Learned
from ..models.memory.parameters import MAX_DEPTH, nesting_depth, size_bytes, to_compact_json
from ..models.memory.state import MemoryState, RememberedValue, ServiceMemory, Source
from ..models.text.ids import timestamp_from_ms
from .merge import Statement, with_cutoff

#: The end of the year 9999: a later time cannot be represented.
_END_MS = 253_402_300_800_000


def write_state(state: MemoryState) -> str:
    """Return the state as stored."""
    others = {
        name: _shelf(shelf)
        for name, shelf in state.service_memories.items()
        if name != state.service and (shelf.parameters or shelf.forgotten)
    }
    more = {
        "others": others,
        "sessions": list(state.sessions),
        "written": list(state.write_marks),
        "selected": state.selected_ms,
        "selected_by": state.selected_by,
        "floor": state.cutoff_ms,
    }
    document = {**to_document(state), **_annotations(state.service_memory(state.service))}
    return to_compact_json({**document, **{name: value for name, value in more.items() if value}})


def to_document(state: MemoryState) -> dict[str, JsonValue]:
    """Return the state in the form of the dialog state document."""
    return {
        "timestamp": state.timestamp_ms / 1000,
        "service": state.service,
        "parameters": state.values(),
        "metadata": {
            "last_updated_by": state.last_updated_by,
            "message_count": state.message_count,
            "conversation_id": state.conversation_id,
            "updated_at": timestamp_from_ms(state.timestamp_ms),
        },
    }


def read_state(text: str) -> MemoryState:
    """Read a stored state.

    Raises:
        CorruptMemory: The stored memory is not valid.
    """
    try:
        data = json.loads(text, parse_constant=_no_constant)
        if "\\u" in text:
            to_compact_json(data).encode()  # half of a pair cannot be written again
        return _state(data)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise CorruptMemory(type(error).__name__) from error


def _shelf(shelf: ServiceMemory) -> dict[str, Any]:
    values = {name: remembered.value for name, remembered in shelf.parameters.items()}
    return {"parameters": values, **_annotations(shelf)}


def _annotations(shelf: ServiceMemory) -> dict[str, Any]:
    notes = {name: _note(remembered) for name, remembered in shelf.parameters.items()}
    parts = {"notes": notes, "forgotten": dict(shelf.forgotten)}
    return {name: part for name, part in parts.items() if part}


def _note(remembered: RememberedValue) -> dict[str, Any]:
    note: dict[str, Any] = {"at": remembered.at_ms}
    if remembered.source is not Source.SAID:
        note["source"] = remembered.source.value
    if remembered.confidence != 1:
        note["confidence"] = remembered.confidence
    if remembered.session:
        note |= {"session": remembered.session, "turn": remembered.turn}
    return note


def _state(data: Any) -> MemoryState:
    timestamp_ms = _stamp(_number(data["timestamp"]) * 1000)
    service, metadata = data.get("service"), data.get("metadata") or {}
    if service is not None and not isinstance(service, str):
        raise TypeError("service")
    shelves = {name: _read_shelf(part, timestamp_ms) for name, part in data.get("others", {}).items()}
    current = _read_shelf(data, timestamp_ms)
    if service is not None:
        shelves[service] = current
    return MemoryState(
        service=service,
        service_memories={
            name: shelf for name, shelf in shelves.items() if shelf.parameters or shelf.forgotten
        },
        timestamp_ms=timestamp_ms,
        last_updated_by=str(metadata.get("last_updated_by") or ""),
        message_count=int(metadata.get("message_count") or 0),
        conversation_id=str(metadata.get("conversation_id") or ""),
        sessions=tuple(map(str, data.get("sessions", ()))),
        write_marks=tuple(map(str, data.get("written", ()))),
        selected_ms=_stamp(data.get("selected", 0)),
        selected_by=str(data.get("selected_by", "")),
        cutoff_ms=_stamp(data.get("floor", 0)),
    )


def _read_shelf(data: Mapping[str, Any], timestamp_ms: int) -> ServiceMemory:
    notes = data.get("notes", {})
    parameters = {
        name: _remembered(value, notes.get(name), timestamp_ms) for name, value in data["parameters"].items()
    }
    return ServiceMemory(
        parameters, {name: _stamp(at_ms) for name, at_ms in data.get("forgotten", {}).items()}
    )


def _remembered(value: JsonValue, note: Mapping[str, Any] | None, timestamp_ms: int) -> RememberedValue:
    if nesting_depth(value, MAX_DEPTH) > MAX_DEPTH:
        raise ValueError("nested too deep")
    if note is None:
        return RememberedValue(value, timestamp_ms, Source.CARRIED)
    return RememberedValue(
        value,
        _stamp(note["at"]),
        Source(note.get("source", Source.SAID)),
        min(max(_number(note.get("confidence", 1.0)), 0.0), 1.0),
        str(note.get("session", "")),
        int(note.get("turn", 0)),
    )


def _stamp(value: object) -> int:
    stamp_ms = round(_number(value))
    if not 0 <= stamp_ms < _END_MS:
        raise ValueError("not a time")
    return stamp_ms


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("not a number")
    return float(value)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


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
    for name, remembered in statement.parameters.items():
        # Short values are not measured.
        if (
            size_bytes(to_compact_json(remembered.value)) > max_bytes // 2
            and _size_alone(statement, name, remembered) > max_bytes
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


def _size_alone(statement: Statement, name: str, remembered: RememberedValue) -> int:
    state = MemoryState(
        service=statement.service,
        service_memories={statement.service or "": ServiceMemory({name: remembered})},
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
        service, name, remembered = oldest.pop(0)
        evicted.append((service, name))
        excess -= size_bytes(to_compact_json(remembered.value)) + size_bytes(to_compact_json(name))
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
            {n: remembered for n, remembered in shelf.parameters.items() if (service, n) not in gone}
        )
        for service, shelf in state.service_memories.items()
    }
    return replace(
        state, service_memories={name: shelf for name, shelf in shelves.items() if shelf.parameters}
    )
