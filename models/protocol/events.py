"""MAP events of a session, for observers.

They have a separate stream, because their type names do not match the pattern of the events that are
embedded in collabs and dialogs.

Source: mplp-map-event.schema.json; map-profile.yaml.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Self

from pydantic import ConfigDict, Field, JsonValue, StrictInt, model_validator

from ..errors import InvalidInput
from ..text.ids import AnyUuid, Timestamp, new_id, utcnow
from .base import JsonObject, Many, ProtocolObject, Text


class MAPEventType(StrEnum):
    """The events of the multi-agent profile."""

    SESSION_STARTED = "MAPSessionStarted"
    ROLES_ASSIGNED = "MAPRolesAssigned"
    TURN_DISPATCHED = "MAPTurnDispatched"
    TURN_COMPLETED = "MAPTurnCompleted"
    BROADCAST_SENT = "MAPBroadcastSent"
    BROADCAST_RECEIVED = "MAPBroadcastReceived"
    CONFLICT_DETECTED = "MAPConflictDetected"
    CONFLICT_RESOLVED = "MAPConflictResolved"
    SESSION_COMPLETED = "MAPSessionCompleted"


class Payload(ProtocolObject):
    """Payload of an event. Fields not declared here are kept unchanged."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, JsonValue]


class SessionStarted(Payload):
    """The session was opened."""


class RolesAssigned(Payload):
    """Participants were bound to roles."""


class TurnDispatched(Payload):
    """A participant was given the right to speak (`turn_dispatched_payload`)."""

    #: The role as a UUID, see `ids.role_uuid`.
    role_id: AnyUuid
    turn_number: StrictInt
    #: Execution token of the turn; messages with another token are refused.
    token_id: AnyUuid | None = None


class TurnCompleted(Payload):
    """A dispatched turn ended, with or without output (`turn_completed_payload`)."""

    role_id: AnyUuid
    turn_number: StrictInt
    result: JsonObject | None = None


class BroadcastSent(Payload):
    """A message was sent to all at once (`broadcast_sent_payload`)."""

    broadcaster_role_id: Text
    target_count: StrictInt
    message: JsonObject | None = None


class BroadcastReceived(Payload):
    """A receiver of a broadcast answered (`broadcast_received_payload`)."""

    receiver_role_id: Text
    response: JsonObject | None = None


class ConflictDetected(Payload):
    """A write was attempted without the grant."""


class ConflictResolved(Payload):
    """The conflict was resolved."""


class SessionCompleted(Payload):
    """The session ended."""


PAYLOADS: dict[MAPEventType, type[Payload]] = {
    MAPEventType.SESSION_STARTED: SessionStarted,
    MAPEventType.ROLES_ASSIGNED: RolesAssigned,
    MAPEventType.TURN_DISPATCHED: TurnDispatched,
    MAPEventType.TURN_COMPLETED: TurnCompleted,
    MAPEventType.BROADCAST_SENT: BroadcastSent,
    MAPEventType.BROADCAST_RECEIVED: BroadcastReceived,
    MAPEventType.CONFLICT_DETECTED: ConflictDetected,
    MAPEventType.CONFLICT_RESOLVED: ConflictResolved,
    MAPEventType.SESSION_COMPLETED: SessionCompleted,
}


class MapEvent(ProtocolObject):
    """One event. A payload must match the type of the event; it may be absent."""

    REQUIRED: ClassVar[frozenset[str]] = frozenset({"event_id", "timestamp"})

    event_id: AnyUuid = Field(default_factory=new_id)
    event_type: MAPEventType
    timestamp: Timestamp = Field(default_factory=utcnow)
    #: The `collab_id` of the session.
    session_id: AnyUuid
    initiator_role: Text | None = None
    target_roles: Many[Text] | None = None
    payload: JsonObject | None = None

    @model_validator(mode="after")
    def _payload_fits(self) -> Self:
        if self.payload is not None:
            self.typed_payload()
        return self

    def typed_payload(self) -> Payload:
        """Return the payload as an object of its event type's class, e.g. `TurnDispatched`.

        Raises:
            InvalidInput: The payload is absent although its type requires fields.
        """
        try:
            return PAYLOADS[self.event_type].model_validate(self.payload or {})
        except InvalidInput as error:
            raise error.within("payload") from None
