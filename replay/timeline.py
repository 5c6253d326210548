"""Order of what happened in a session, from its MAP events. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..models.protocol.events import MapEvent, MAPEventType
from ..models.turns.turn import OutcomeKind
from ..tasks.planning.moment import written_result


@dataclass(frozen=True, slots=True)
class ClosedTurn:
    """A turn that was written."""

    number: int
    participant: str
    token: str
    kind: OutcomeKind
    error: str | None
    #: Position among the events.
    at: int


@dataclass(slots=True)
class Timeline:
    """The turns of a session in the order in which they were written, and when each turn was first begun."""

    closed: list[ClosedTurn] = field(default_factory=list)
    #: Participant of each turn that began, by number.
    participants: dict[int, str] = field(default_factory=dict)
    #: Position of the first beginning of each turn.
    began_at: dict[int, int] = field(default_factory=dict)


def read_timeline(events: Iterable[MapEvent]) -> Timeline:
    """Return the timeline of a session."""
    timeline = Timeline()
    for at, event in enumerate(events):
        data: dict[str, Any] = dict(event.payload or {})
        if event.event_type == MAPEventType.TURN_DISPATCHED:
            timeline.participants.setdefault(data["turn_number"], data.get("participant_id") or "")
            timeline.began_at.setdefault(data["turn_number"], at)
        elif (result := written_result(event)) is not None:
            timeline.closed.append(
                ClosedTurn(
                    number=data["turn_number"],
                    participant=data.get("participant_id") or "",
                    token=data.get("token_id") or "",
                    kind=OutcomeKind(result["outcome"]),
                    error=result.get("error"),
                    at=at,
                )
            )
    return timeline
