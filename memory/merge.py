"""Statements of typed, stamped parameters, and their merge into memory.

The later statement wins, "not said" changes nothing, forgetting is final. `apply_statement` may be
called again with the same statement, and with statements in any order: the result is the same.

Source: dialog state document, sections 2 (`_merge_with_dialog_state`) and 10.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..models.errors import InvalidInput
from ..models.memory.parameters import is_stated
from ..models.memory.recall import INFERRED_CONFIDENCE
from ..models.memory.services import Service
from ..models.memory.state import (
    MAX_FORGOTTEN,
    MAX_SESSIONS,
    MAX_WRITES,
    MemoryState,
    RememberedValue,
    ServiceMemory,
    Source,
)

#: Characters of a mark.
_MARK = 12


@dataclass(frozen=True, slots=True)
class Statement:
    """The parameters from one turn, or from one call of a program."""

    #: None: nothing for any service, as when everything is forgotten.
    service: str | None
    #: When the turn began: everything in it has this stamp.
    at_ms: int
    parameters: Mapping[str, RememberedValue] = field(default_factory=dict)
    forget: tuple[str, ...] = ()
    #: Forget all that was said until now, for every service.
    forget_all: bool = False
    #: Whether the service becomes the current one.
    selects: bool = True
    #: The session it is said in; empty: by a program.
    session: str = ""


@dataclass(frozen=True, slots=True)
class WriteMetadata:
    """Writer and time of a write, for the metadata."""

    #: Now, by the server's clock.
    now_ms: int
    #: The same when the same write is repeated.
    mark: str
    by: str = ""
    conversation_id: str = ""
    session: str = ""
    messages: int = 1


def write_mark(session: str, turn: int) -> str:
    """Return the mark by which a state recognises a turn's write; short, because it is stored."""
    return hashlib.sha256(f"{session}:{turn}".encode()).hexdigest()[:_MARK]


def apply_statement(state: MemoryState, statement: Statement) -> MemoryState:
    """Return the state after a statement. Of two statements on one parameter the one with the later stamp holds."""
    if statement.forget_all:
        return _forget_all(state, statement.at_ms)
    if statement.at_ms <= state.cutoff_ms or statement.service is None:
        return state
    shelf = _set_parameters(_forget_parameters(state.service_memory(statement.service), statement), statement)
    shelves = {**state.service_memories, statement.service: shelf}
    if not (shelf.parameters or shelf.forgotten):
        del shelves[statement.service]
    state = _limit_tombstones(replace(state, service_memories=shelves))
    return _select_service(state, statement) if statement.selects else state


def lost_names(statement: Statement, state: MemoryState) -> tuple[str, ...]:
    """Return the parameters of a statement that a memory does not have, neither with this value nor with a later one."""
    parameters = state.service_memory(statement.service).parameters
    return tuple(
        name
        for name, remembered in statement.parameters.items()
        if name not in parameters or parameters[name].at_ms < remembered.at_ms
    )


def with_write_metadata(state: MemoryState, writer: WriteMetadata) -> MemoryState:
    """Return the state with metadata that says who wrote it."""
    return replace(
        state,
        timestamp_ms=writer.now_ms,
        last_updated_by=writer.by or state.last_updated_by,
        message_count=state.message_count + writer.messages,
        conversation_id=writer.conversation_id or state.conversation_id,
        sessions=_newest(state.sessions, writer.session, MAX_SESSIONS),
        write_marks=_newest(state.write_marks, writer.mark, MAX_WRITES),
    )


def _select_service(state: MemoryState, statement: Statement) -> MemoryState:
    if statement.at_ms < state.selected_ms:
        return state
    return replace(
        state, service=statement.service, selected_ms=statement.at_ms, selected_by=statement.session
    )


def _set_parameters(shelf: ServiceMemory, statement: Statement) -> ServiceMemory:
    parameters, forgotten = dict(shelf.parameters), dict(shelf.forgotten)
    for name, new in statement.parameters.items():
        old = parameters.get(name)
        is_later = (old is None or old.at_ms <= new.at_ms) and forgotten.get(name, -1) < new.at_ms
        if is_stated(new.value) and is_later:
            # The newest parameter is inserted last: of two with the same stamp the earlier one is evicted
            # first.
            parameters.pop(name, None)
            parameters[name] = new
            forgotten.pop(name, None)
    return ServiceMemory(parameters, forgotten)


def _forget_parameters(shelf: ServiceMemory, statement: Statement) -> ServiceMemory:
    # A parameter that the same turn states again is not forgotten.
    names = [name for name in statement.forget if name not in statement.parameters]
    if not names:
        return shelf
    parameters, forgotten = dict(shelf.parameters), dict(shelf.forgotten)
    for name in names:
        old = parameters.get(name)
        if old is None or old.at_ms <= statement.at_ms:
            parameters.pop(name, None)
            forgotten[name] = max(forgotten.get(name, 0), statement.at_ms)
    return ServiceMemory(parameters, forgotten)


def _forget_all(state: MemoryState, at_ms: int) -> MemoryState:
    """Return the state with only the statements after the stamp, and a cutoff that rejects older ones."""
    shelves = {}
    for service, shelf in state.service_memories.items():
        later = {
            name: remembered for name, remembered in shelf.parameters.items() if remembered.at_ms > at_ms
        }
        tombs = {name: tomb_ms for name, tomb_ms in shelf.forgotten.items() if tomb_ms > at_ms}
        if later or tombs:
            shelves[service] = ServiceMemory(later, tombs)
    floor_ms = max(state.cutoff_ms, at_ms)
    if shelves:
        return replace(state, service_memories=shelves, cutoff_ms=floor_ms)
    return MemoryState(timestamp_ms=state.timestamp_ms, cutoff_ms=floor_ms, write_marks=state.write_marks)


def _limit_tombstones(state: MemoryState) -> MemoryState:
    stamps = sorted(at_ms for shelf in state.service_memories.values() for at_ms in shelf.forgotten.values())
    excess = len(stamps) - MAX_FORGOTTEN
    return with_cutoff(state, stamps[excess - 1]) if excess > 0 else state


def with_cutoff(state: MemoryState, floor_ms: int) -> MemoryState:
    """Return the state with a cutoff in place of its tombstones up to then. Parameters stay.

    Turns that began before the cutoff cannot add statements any more, not even new ones.
    """
    shelves = {
        service: ServiceMemory(
            shelf.parameters, {name: at_ms for name, at_ms in shelf.forgotten.items() if at_ms > floor_ms}
        )
        for service, shelf in state.service_memories.items()
    }
    kept = {name: shelf for name, shelf in shelves.items() if shelf.parameters or shelf.forgotten}
    return replace(state, service_memories=kept, cutoff_ms=max(state.cutoff_ms, floor_ms))


def _newest(entries: tuple[str, ...], new: str, most: int) -> tuple[str, ...]:
    return (*(entry for entry in entries if entry != new), new)[-most:] if new else entries


@dataclass(frozen=True, slots=True)
class StatementOrigin:
    """Session and time of a statement."""

    #: Stamp of the statement.
    at_ms: int
    session: str = ""
    turn: int = 0


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A statement, and what was wrong with the rest of what was said."""

    statement: Statement
    invalid: tuple[InvalidInput, ...] = ()

    def require_valid(self) -> Statement:
        """Return the statement.

        Raises:
            InvalidInput: The first value that breaks a rule.
        """
        if self.invalid:
            raise self.invalid[0]
        return self.statement


def parse_statement(
    service: Service,
    origin: StatementOrigin,
    stated_values: Mapping[str, object],
    *,
    inferred: Mapping[str, object] | None = None,
    confidence: Mapping[str, float] | None = None,
    forget: tuple[str, ...] = (),
) -> ParsedStatement:
    """Return stated and inferred parameters as one statement; a parameter given as both counts as stated."""
    sure = confidence or {}
    concluded, odd = service.split_valid(inferred or {})
    stated, bad = service.split_valid(stated_values)
    parameters = {
        name: RememberedValue(
            value,
            origin.at_ms,
            source,
            min(max(sure.get(name, usual), 0.0), 1.0),
            origin.session,
            origin.turn,
        )
        for values, source, usual in (
            (concluded, Source.INFERRED, INFERRED_CONFIDENCE),
            (stated, Source.SAID, 1.0),
        )
        for name, value in values.items()
    }
    statement = Statement(service.name, origin.at_ms, parameters, forget, session=origin.session)
    return ParsedStatement(statement, (*bad, *odd))
