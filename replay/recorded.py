"""What a replay reads of a session: its dialog as each turn saw it, and the order of its turns. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..models.protocol.dialog import Message, message_digest
from ..models.protocol.events import MapEvent, MAPEventType
from ..models.sessions.recorded import RecordedTurn, SeenMessages
from ..models.turns.turn import OutcomeKind
from ..state.sessions.records import SessionState
from ..tasks.planning.moment import Moment, written_result
from ..tasks.views.session_views import SessionFacts
from ..tasks.views.turn_context import newest_messages


class RecordedDialog:
    """The messages of a session."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {message_digest(message): at for at, message in enumerate(self.messages)}

    def window(self, seen: SeenMessages, *, is_first_pinned: bool) -> tuple[Message, ...] | None:
        """Return the messages that a turn saw; None: the dialog no longer has the newest of them.

        `is_first_pinned`: the turn saw the first message in place of the oldest of the others.
        """
        if not seen.newest:
            return ()
        at = self._positions.get(seen.newest)
        if at is None:
            return None
        return tuple(newest_messages(self.messages[: at + 1], seen.count, is_first_pinned=is_first_pinned))

    def said(self, number: int, token: str, participant: str) -> tuple[Message, ...]:
        """Return the messages that a participant wrote in a turn."""
        return tuple(
            message
            for message in self.messages
            if message.turn_number == number and message.token_id == token and message.speaker == participant
        )


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


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """All that a replay reads."""

    facts: SessionFacts
    state: SessionState
    timeline: Timeline
    dialog: RecordedDialog
    #: Records by token.
    records: Mapping[str, RecordedTurn]
    #: The roster was changed while the session ran.
    has_other_roster: bool = False
    #: State in which it began.
    start: Moment = field(default_factory=Moment)

    @property
    def by_number(self) -> dict[int, RecordedTurn]:
        """Return the records of the written turns by number."""
        records = (self.records.get(closed_turn.token) for closed_turn in self.timeline.closed)
        return {record.number: record for record in records if record is not None}
