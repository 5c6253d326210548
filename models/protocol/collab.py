"""Collab: a session of several participants in one of five modes.

Also the lookup of participants and the mode selection guide.

Source: Collab module, sections 2 to 4; mplp-collab.schema.json.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import Field

from ..errors import InvalidInput, InvariantViolation
from ..text.ids import Id, Timestamp, new_id, utcnow
from ..text.redact import ABSENT
from .base import Event, Governance, Many, Meta, NonBlank, ProtocolObject, Text, Trace


class CollabMode(StrEnum):
    """Order in which the participants take turns (section 3)."""

    BROADCAST = "broadcast"
    ROUND_ROBIN = "round_robin"
    ORCHESTRATED = "orchestrated"
    SWARM = "swarm"
    PAIR = "pair"

    @classmethod
    def _missing_(cls, value: object) -> CollabMode | None:
        return _ADDED.get(str(value))


#: Modes besides those of the protocol, by name.
_ADDED: dict[str, CollabMode] = {}


def add_mode_name(name: str) -> CollabMode:
    """Add a valid name for `Collab.mode`; see `symposia.models.modes.add_mode`."""
    added = str.__new__(CollabMode, name)
    added._name_, added._value_ = name.upper(), name
    return _ADDED.setdefault(name, added)


def added_mode_names() -> tuple[str, ...]:
    """Return the names of added modes, in the order in which this process added them."""
    return tuple(_ADDED)


class CollabStatus(StrEnum):
    """Status of a session (section 4); participants act in `active` only."""

    DRAFT = "draft"
    ACTIVE = "active"
    SUSPENDED = "suspended"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


class ParticipantKind(StrEnum):
    """Kind of a participant."""

    AGENT = "agent"
    HUMAN = "human"
    SYSTEM = "system"
    EXTERNAL = "external"


class Participant(ProtocolObject):
    """A participant of a session (section 2.3)."""

    REQUIRED: ClassVar[frozenset[str]] = frozenset({"kind"})

    participant_id: NonBlank
    #: Role of the participant; filled from `participant_id` when the session is activated.
    role_id: NonBlank | None = None
    kind: ParticipantKind = ParticipantKind.AGENT
    display_name: Text | None = None


class Collab(ProtocolObject):
    """A collaboration session. It is immutable; `invariants.transition_collab` changes its status."""

    REQUIRED: ClassVar[frozenset[str]] = frozenset(
        {"meta", "collab_id", "context_id", "status", "created_at"}
    )

    meta: Meta = Field(default_factory=Meta)
    governance: Governance | None = None
    collab_id: Id = Field(default_factory=new_id)
    #: Context of the session; by default a new one.
    context_id: Id = Field(default_factory=new_id)
    title: Annotated[Text, Field(min_length=1)]
    purpose: Annotated[Text, Field(min_length=1)]
    mode: CollabMode
    status: CollabStatus = CollabStatus.DRAFT
    participants: Many[Participant] = Field(min_length=1)
    created_at: Timestamp = Field(default_factory=utcnow)
    updated_at: Timestamp | None = None
    trace: Trace | None = None
    events: Many[Event] | None = None

    if not TYPE_CHECKING:  # type checkers see the fields instead

        def __init__(self, /, **data: Any) -> None:
            """Read a text among the participants as a participant id; in JSON data, the schema decides."""
            if isinstance(given := data.get("participants"), list | tuple):
                data["participants"] = [
                    {"participant_id": entry} if isinstance(entry, str) else entry for entry in given
                ]
            super().__init__(**data)

        __init__.__pydantic_base_init__ = True

    def activated(self) -> Self:
        """Return this collab with every missing `role_id` filled from its `participant_id`.

        `invariants.transition_collab` calls it for the status `active`, and changes the status itself.
        """
        if all(p.role_id for p in self.participants):
            return self
        # Not validated again: an id of a participant is a valid role id.
        bound = tuple(
            p if p.role_id else p.model_copy(update={"role_id": p.participant_id}) for p in self.participants
        )
        return self.model_copy(update={"participants": bound})


def orchestrator_of(collab: Collab, explicit: str | None = None) -> str:
    """Return the participant id of the orchestrator.

    That is `explicit` if it is given, otherwise the only participant whose role id is `orchestrator` or
    starts with `role-orchestrator`, otherwise the only one whose participant id is `orchestrator` or starts
    with `orchestrator-`.

    Raises:
        InvariantViolation: `map_orchestrator_required`, if there is none or more than one.
    """
    ids = [p.participant_id for p in collab.participants]
    value: object
    if explicit is not None:
        candidates = [explicit] if explicit in ids else []
        rule, value = "must be the id of a participant", explicit
    else:
        candidates = orchestrators_among(collab.participants)
        rule = "must contain exactly one orchestrator: set its role_id to 'orchestrator', or name it"
        value = ", ".join(candidates) or ABSENT
    if len(candidates) == 1:
        return candidates[0]
    field = "participants" if explicit is None else "orchestrator"
    raise InvariantViolation("map_orchestrator_required", field=field, value=value, rule=rule)


def orchestrators_among(participants: Iterable[Participant]) -> list[str]:
    """Return the ids of all participants that are orchestrators by their role, or else by their id."""
    everyone = [(p.participant_id, p.role_id) for p in participants]
    by_role = [
        name
        for name, role in everyone
        if role is not None and (role == "orchestrator" or role.startswith("role-orchestrator"))
    ]
    return by_role or [
        name for name, _ in everyone if name == "orchestrator" or name.startswith("orchestrator-")
    ]


def role_of(participant: Participant) -> str:
    """Return the participant's role id; without a role, its participant id."""
    return participant.role_id or participant.participant_id


def find_participants(name: str, roster: Sequence[Participant]) -> tuple[str, ...]:
    """Return the ids of the participants that `name` may mean, in roster order (none: unknown, several: ambiguous).

    Matches are tried in this order, and the first kind with a match decides: an exact id, an id in another
    case, a role id, a display name.
    """
    exact, wanted = name.strip(), name.strip().casefold()
    if not wanted:
        return ()
    matches = (
        [p for p in roster if p.participant_id == exact]
        or [p for p in roster if p.participant_id.casefold() == wanted]
        or [p for p in roster if (p.role_id or "").casefold() == wanted]
        or [p for p in roster if (p.display_name or "").casefold() == wanted]
    )
    return tuple(p.participant_id for p in matches)


def find_participant_or_role(name: str, roster: Sequence[Participant]) -> str | None:
    """Return the participant id that `name` means, or the role id (of one or several); None: neither."""
    ids, wanted = find_participants(name, roster), name.strip().casefold()
    if not ids or wanted == ids[0].casefold():
        return ids[0] if ids else None
    role = next(p.role_id for p in roster if p.participant_id == ids[0])
    if role is not None and role.casefold() == wanted:
        return role
    return ids[0] if len(ids) == 1 else None


def recommend_mode(
    participants: int, *, central_control: bool = False, independent: bool = False, sequential: bool = False
) -> CollabMode:
    """Return the mode that the guide recommends for this number of participants.

    Two participants are a pair. For more, the first condition that applies decides: central control,
    independent work, a fixed sequence; otherwise broadcast. The guide does not mention a single participant,
    which is treated like more than two.

    Args:
        participants: Number of participants.
        central_control: Whether one participant directs the others.
        independent: Whether the participants work independently.
        sequential: Whether they speak in a fixed order.

    Raises:
        InvalidInput: Fewer than one participant.
    """
    if participants < 1:
        raise InvalidInput("participants", participants, "must be at least 1")
    if participants == 2:
        return CollabMode.PAIR
    if central_control:
        return CollabMode.ORCHESTRATED
    if independent:
        return CollabMode.SWARM
    return CollabMode.ROUND_ROBIN if sequential else CollabMode.BROADCAST
