"""Report on a memory for people: every parameter, masked, with its source and confidence.

Source: dialog state document, section 10 ("User-facing context viewer").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from pydantic import JsonValue

from ..models.memory.masking import mask
from ..models.memory.recall import RecallContext, confidence_now
from ..models.memory.services import private_names
from ..models.memory.state import MemoryState, Source
from ..models.text.ids import timestamp_from_ms


@dataclass(frozen=True, slots=True)
class ReportLine:
    """One remembered parameter."""

    service: str
    name: str
    #: Masked.
    value: JsonValue
    source: Source
    #: 0..1, now.
    confidence: float
    #: The session and turn that set it; empty and 0: a program.
    session: str
    turn: int
    age_s: int


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """Remembered parameters of a user in a room."""

    user_id: str
    room_id: str
    #: The service spoken of last.
    service: str | None
    lines: tuple[ReportLine, ...]
    #: Service -> names of the parameters that were forgotten on request.
    forgotten: Mapping[str, tuple[str, ...]]
    message_count: int
    last_updated_by: str
    conversation_id: str
    #: RFC 3339; empty when nothing is remembered.
    updated_at: str
    #: Seconds until all of it is forgotten.
    ttl_s: int

    def to_json(self) -> dict[str, JsonValue]:
        """Return the same as data."""
        return {
            "user_id": self.user_id,
            "room_id": self.room_id,
            "service": self.service,
            "parameters": [{**asdict(line), "source": line.source.value} for line in self.lines],
            "forgotten": {service: list(names) for service, names in self.forgotten.items()},
            "metadata": {
                "message_count": self.message_count,
                "last_updated_by": self.last_updated_by,
                "conversation_id": self.conversation_id,
                "updated_at": self.updated_at,
            },
            "ttl_s": self.ttl_s,
        }


def build_report(
    state: MemoryState, *, user_id: str, room_id: str, now_ms: int, half_life_ms: int, ttl_ms: int
) -> MemoryReport:
    """Return the report on a state; what its newest session has set counts as said there."""
    session = state.sessions[-1] if state.sessions else ""
    asker = RecallContext(now_ms=now_ms, half_life_ms=half_life_ms, session=session)
    lines = [
        ReportLine(
            service=service,
            name=name,
            value=mask(name, remembered.value, private=name in private_names(service)),
            source=remembered.source if remembered.session in ("", session) else Source.CARRIED,
            confidence=round(confidence_now(remembered, asker), 2),
            session=remembered.session,
            turn=remembered.turn,
            age_s=max(now_ms - remembered.at_ms, 0) // 1000,
        )
        for service, name, remembered in state.all_parameters()
    ]
    forgotten = {
        service: tuple(shelf.forgotten)
        for service, shelf in state.service_memories.items()
        if shelf.forgotten
    }
    return MemoryReport(
        user_id=user_id,
        room_id=room_id,
        service=state.service,
        lines=tuple(lines),
        forgotten=forgotten,
        message_count=state.message_count,
        last_updated_by=state.last_updated_by,
        conversation_id=state.conversation_id,
        updated_at=timestamp_from_ms(state.timestamp_ms) if state.timestamp_ms else "",
        ttl_s=max(ttl_ms, 0) // 1000,
    )
