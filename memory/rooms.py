"""Dialog memory for programs: parameters that a user stated in a room, for follow-up messages.

    memory = DialogMemory("redis://localhost:6379/0")
    memory.store(42, "room_123", {"from": "Nairobi", "to": "London"}, service="travel")
    memory.merge(42, "room_123", {"return_date": "2026-02-20"})
    # {"from": "Nairobi", "to": "London", "return_date": "2026-02-20"}

If Redis is unavailable, a conversation continues with an empty memory. Requests of people (show,
export, forget, share) are in `management.py`.

Source: dialog state document, section 2 ("Core Methods").
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from ..models.errors import InvalidInput
from ..models.memory.forms import service_forms
from ..models.memory.learned import Learned
from ..models.memory.masking import mask
from ..models.memory.parameters import to_compact_json
from ..models.memory.recall import MemoryView, RecallContext, day_of, recall, view_without_service
from ..models.memory.services import Service, find_service, registered_services
from ..models.memory.state import MemoryState
from .management import MemoryManagement, new_mark
from .merge import (
    Statement,
    StatementOrigin,
    WriteMetadata,
    apply_statement,
    lost_names,
    parse_statement,
    with_write_metadata,
)
from .monitoring import MemoryEvent, log_merging, log_retrieved, log_stored
from .sentences import read_in_program
from .store import REDIS_ERRORS
from .values import MemorySnapshot, Owner
from .wire_form import cap_state, to_document

log = logging.getLogger("symposia.state.memory.rooms")

#: Session id of statements outside any session.
_NOW = "now"


@dataclass(frozen=True, slots=True)
class _Stated:
    """What a message states: its parameters, and more if a parser has read it."""

    #: None: none was named, and the memory has no current one.
    service: str | None
    parameters: Mapping[str, object]
    learned: Learned = field(default_factory=Learned)
    unclear: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.parameters or self.learned.inferred or self.learned.forget) and not self.unclear

    def to_statement(self, service: Service, origin: StatementOrigin) -> Statement:
        """Return the statement. Raises InvalidInput for a value of the wrong type."""
        return parse_statement(
            service,
            origin,
            self.parameters,
            inferred=self.learned.inferred,
            confidence=self.learned.confidence,
            forget=self.learned.forget,
        ).require_valid()


class DialogMemory(MemoryManagement):
    """The memories in one Redis, for conversations and the people in them."""

    def get(self, user_id: object, room_id: object) -> dict[str, JsonValue]:
        """Return the memory of a room.

        Args:
            user_id: The owner of the memory.
            room_id: The room.

        Returns:
            `timestamp`, `service`, `parameters` and `metadata`; `{}` if there is no memory, or Redis is
                unavailable.

        Raises:
            InvalidInput: A bad id.
        """
        look = self._read(Owner.from_ids(user_id, room_id))
        return {} if look.room.value.is_blank else to_document(look.room.value)

    def recall(
        self,
        user_id: object,
        room_id: object,
        parameters: Mapping[str, object] | str | None = None,
        *,
        service: str | None = None,
        defaults: Mapping[str, JsonValue] | None = None,
    ) -> MemoryView:
        """Return the parameters merged from the new message, the memory and the defaults, and what to ask for.

        The new message has the highest priority, the defaults the lowest. Nothing is written.

        Args:
            user_id: The owner of the memory.
            room_id: The room.
            parameters: Parameters of the new message, by name; or the message, which the registered parser reads.
            service: The service. None: the last used one; if there is none (a new or expired memory), only the
                new parameters and the defaults are returned.
            defaults: Values of parameters that neither the message nor the memory has.

        Raises:
            InvalidInput: A bad id, an unknown service, or a value of the wrong type.
        """
        look = self._read(Owner.from_ids(user_id, room_id))
        state, ttl_ms = look.room.value, self.kept.rules.ttl_ms
        stated = self._stated(look, parameters or {}, service, defaults)
        if stated.service is None:
            view = view_without_service(
                stated.parameters, defaults, services=tuple(state.service_memories), degraded=look.degraded
            )
            return view.changed(unclear=stated.unclear, ask=("service",)) if stated.unclear else view
        known_service = find_service(stated.service)
        new = stated.to_statement(known_service, StatementOrigin(look.stamp_ms, session=_NOW))
        view = recall(
            apply_statement(state, new),
            known_service,
            RecallContext(now_ms=look.now_ms, half_life_ms=ttl_ms, session=_NOW),
            defaults=defaults,
            other_rooms=look.sharing.value.service_memory(
                known_service.name, now_ms=look.now_ms, ttl_ms=ttl_ms
            ),
            degraded=look.degraded,
        )
        new_values = {name: remembered.value for name, remembered in new.parameters.items()}
        log_merging(
            known_service.name,
            cached=state.values(known_service.name),
            new=new_values,
            merged=view.parameters,
        )
        return view

    def merge(
        self,
        user_id: object,
        room_id: object,
        parameters: Mapping[str, object] | str,
        *,
        service: str | None = None,
        defaults: Mapping[str, JsonValue] | None = None,
    ) -> dict[str, JsonValue]:
        """Return the merged parameters of `recall`.

        Args:
            user_id: The owner of the memory.
            room_id: The room.
            parameters: Parameters of the new message, by name; or the message, which the registered parser reads.
            service: The service. None: the last used one; if there is none (a new or expired memory), only the
                new parameters and the defaults are returned.
            defaults: Values of parameters that neither the message nor the memory has.

        Raises:
            InvalidInput: A bad id, an unknown service, or a value of the wrong type.
        """
        return self.recall(user_id, room_id, parameters, service=service, defaults=defaults).parameters

    def store(
        self,
        user_id: object,
        room_id: object,
        parameters: Mapping[str, object] | str,
        *,
        service: str | None = None,
        updated_by: str = "",
        conversation_id: str = "",
    ) -> bool:
        """Add parameters to the memory of a service, and make it the last used one.

        Args:
            user_id: The owner; without user or room nothing is stored.
            room_id: The room.
            parameters: By name; `None`, `""`, `[]` and `{}` change nothing. Or a message, which the registered parser
                reads; it may also forget parameters.
            service: None: the last used one.
            updated_by: The source of the values, for the metadata.
            conversation_id: For the metadata.

        Returns:
            Whether all of it was stored: False without user or room, with nothing to store, without Redis, or if the
                values were removed at once, by a concurrent deletion or because the memory is full.

        Raises:
            InvalidInput: No service, an unknown one, a bad id, or a value that has the wrong type or is too large
                (`memory_max_bytes`): nothing was stored.
        """
        owner = Owner.from_ids(user_id, room_id)
        look = self._read(owner)
        stated = self._stated(look, parameters, service)
        if stated.service is None and (look.degraded or stated.is_empty):
            return False
        if stated.service is None:
            rule = "is required: the memory has no current service yet"
            if stated.unclear:
                rule = f"is required: the parameters may belong to {' or '.join(stated.unclear)}"
            raise InvalidInput("service", None, rule)
        statement = stated.to_statement(find_service(stated.service), StatementOrigin(look.stamp_ms))
        if owner is None or look.degraded or not (statement.parameters or statement.forget):
            return False
        writer = WriteMetadata(look.now_ms, mark=new_mark(), by=updated_by, conversation_id=conversation_id)
        self._check_size(statement, writer)
        try:
            written = self.kept.write(owner, [statement], writer, look=look)
        except REDIS_ERRORS as error:
            self._degraded("storing", error)
            return False
        if written is look:
            return False
        lost = lost_names(statement, written.room.value)
        if lost:
            log.warning(
                "dialog memory: %s of service %s not stored: removed by a concurrent change, or to make room",
                ", ".join(lost),
                statement.service,
            )
            return False
        log_stored(owner, self.kept.rules)
        return True

    def _stated(
        self,
        look: MemorySnapshot,
        given: Mapping[str, object] | str,
        service: str | None,
        defaults: Mapping[str, JsonValue] | None = None,
    ) -> _Stated:
        """Return what a program passes, read by the parser if it is a message.

        Raises:
            InvalidInput: There is no parser for a message, or a value in it has the wrong type.
        """
        current = service or look.room.value.service
        if not isinstance(given, str):
            return _Stated(current, given)
        offered = registered_services() if service is None else (find_service(service),)
        today = day_of(look.now_ms or int(time.time() * 1000))
        view = self._view_of(look, current, defaults).changed(forms=service_forms(offered), today=today)
        checked = read_in_program(given, view, today=today)
        if checked.faults and not checked.unclear:
            raise InvalidInput("parameters", mask("message", given), checked.faults[0])
        learned = checked.learned or Learned()
        named = learned.service or (None if checked.unclear else current)
        return _Stated(named, learned.parameters, learned, checked.unclear)

    def _view_of(
        self, look: MemorySnapshot, name: str | None, defaults: Mapping[str, JsonValue] | None
    ) -> MemoryView:
        if name is None:
            return MemoryView(degraded=look.degraded)
        asker = RecallContext(look.now_ms, self.kept.rules.ttl_ms, session=_NOW)
        return recall(look.room.value, find_service(name), asker, defaults=defaults)

    def _check_size(self, statement: Statement, writer: WriteMetadata) -> None:
        """Refuse parameters that do not fit even into an empty memory: some of them would be dropped."""
        alone = with_write_metadata(apply_statement(MemoryState(), statement), writer)
        if cap_state(alone, max_bytes=self.kept.rules.max_bytes).evicted:
            sizes = {
                name: len(to_compact_json(remembered.value))
                for name, remembered in statement.parameters.items()
            }
            largest = max(sizes, key=lambda name: sizes[name])
            self.kept.counts.count(MemoryEvent.TOO_LARGE)
            rule = f"must fit, with all parameters, into a memory of {self.kept.rules.max_bytes} bytes"
            raise InvalidInput(largest, statement.parameters[largest].value, rule)

    def _read(self, owner: Owner | None) -> MemorySnapshot:
        """Return the memory; an empty one without an owner or without Redis."""
        if owner is None:
            return MemorySnapshot(0)
        try:
            look = self.kept.read(owner)
        except REDIS_ERRORS as error:
            self._degraded("reading", error)
            return MemorySnapshot(0, degraded=True)
        log_retrieved(owner, look)
        return look

    def _degraded(self, doing: str, error: Exception) -> None:
        log.warning("%s dialog memory failed, continuing without it: %s", doing, error)
        self.kept.counts.count_locally(MemoryEvent.DEGRADED)
