"""A conversation, its summary in a listing, and its messages.

Also what tasks and conversations share: agent ids, size limits and the wire format. The source names
agents by UUID. Participants of sessions have names, so any such name is an agent's id here, too: the
same text is the same agent. A UUID is kept in lower case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from ...models.errors import invalid_input
from ...models.protocol.base import Many, NonBlank, ProtocolObject, Text
from ...models.protocol.dialog import DialogStatus, Message
from ...models.sessions.limits import MAX_ID
from ...models.text.ids import Id, Timestamp, format_timestamp, is_uuid

#: Members of a conversation.
MAX_MEMBERS = 256
#: Participants of a task.
MAX_TASK_PARTICIPANTS = 1_000
#: Characters of a message, and of the beginning of one that a summary shows.
MAX_TEXT = 32_768
PREVIEW = 80
#: Characters of a conversation's name.
MAX_NAME = 100
#: Messages of a page of history, and rows of a page of a listing.
MAX_PAGE_SIZE = 100
USUAL = 50

_NUL = "\x00"


class Unchanged(Enum):
    """Marker for a field that an update leaves unchanged; None removes the value."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED


def _agent_id(text: str) -> str:
    if _NUL in text:
        raise ValueError("must not contain NUL characters")
    return lower if is_uuid(lower := text.lower()) else text


#: Id of an agent: a UUID, or the name of a participant.
AgentId = Annotated[NonBlank, StringConstraints(max_length=MAX_ID), AfterValidator(_agent_id)]
#: A text of a conversation's metadata.
_Short = Annotated[str, StringConstraints(min_length=1, max_length=100)]
_Tag = Annotated[dict[_Short, Annotated[str, StringConstraints(max_length=1_000)]], Field(max_length=20)]


class CamelProtocolObject(ProtocolObject):
    """Base of the protocol objects of tasks: camelCase on the wire."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


class Metadata(CamelProtocolObject):
    """Metadata of a conversation, from its creator."""

    tags: Annotated[Many[_Tag], Field(max_length=50)] | None = None


class AgentRef(CamelProtocolObject):
    """A member, as summaries list it."""

    type: Literal["agent"] = "agent"
    id: AgentId


_AGENT: TypeAdapter[str] = TypeAdapter(AgentId)
_AGENTS: TypeAdapter[list[str]] = TypeAdapter(list[AgentId])


def read_agent(agent: object, field: str = "agent") -> str:
    """Return an agent's id in its normal form.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    try:
        return _AGENT.validate_python(agent)
    except ValidationError as error:
        raise invalid_input(error, field) from None


def read_agents(agents: object, field: str = "participants") -> tuple[str, ...]:
    """Return several ids in their normal form, each once, in the order given.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    if isinstance(agents, Iterable) and not isinstance(agents, str | bytes | Mapping):
        agents = list(agents)
    try:
        return tuple(dict.fromkeys(_AGENTS.validate_python(agents)))
    except ValidationError as error:
        raise invalid_input(error, field) from None


ConversationName = Annotated[Text, Field(min_length=1, max_length=MAX_NAME)]


class Conversation(CamelProtocolObject):
    """A conversation (section "Conversation schema"). There are no kinds of them, and all members are equal."""

    #: Data for Python callers that the schema has no field for.
    _BESIDES: ClassVar[set[str]] = {"task_id", "dialog_status", "participants"}

    id: Id
    task_id: Id
    name: ConversationName | None = None
    created_by: AgentId
    metadata: Metadata | None = None
    last_message_timestamp: Timestamp | None = None
    #: There while it is archived.
    archived_at: Timestamp | None = None
    created_at: Timestamp
    updated_at: Timestamp
    #: Of its one dialog, which has the same id, and the task's id as its thread.
    dialog_status: DialogStatus = DialogStatus.ACTIVE
    participants: Many[AgentRef] = ()

    @property
    def agents(self) -> tuple[str, ...]:
        """Ids of its members, sorted."""
        return tuple(participant.id for participant in self.participants)

    def to_wire(self) -> dict[str, Any]:
        """Return this conversation in the form of the schema."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=self._BESIDES)


class ConversationSummary(CamelProtocolObject):
    """Summary of a conversation in a listing (section "Conversation summary")."""

    id: Id
    name: ConversationName | None = None
    last_message_preview: Annotated[Text, Field(max_length=PREVIEW)] | None = None
    last_message_timestamp: Timestamp | None = None
    #: Messages of others after the reader's position.
    unread_count: int = 0
    #: There while it is archived.
    archived_at: Timestamp | None = None
    metadata: Metadata | None = None
    participants: Many[AgentRef] | None = None


@dataclass(frozen=True, slots=True)
class ConversationMessage:
    """A message with its position in its conversation."""

    id: str
    #: 1 for the first message of the conversation.
    number: int
    message: Message

    @property
    def sender(self) -> str | None:
        """The agent that said it; None: not from a turn of a session."""
        return self.message.speaker

    @property
    def text(self) -> str:
        """Text of the message."""
        return self.message.content

    @property
    def timestamp(self) -> datetime:
        """Time of the message."""
        return self.message.timestamp

    @property
    def reply_to(self) -> str | None:
        """Id of the message it answers."""
        event = self.message.event
        target = (event.data or {}).get("reply_to") if event else None
        return target if isinstance(target, str) else None

    @property
    def parts(self) -> tuple[dict[str, Any], ...]:
        """Its parts as data, if it was sent with parts."""
        event = self.message.event
        parts: Any = (event.data or {}).get("parts") if event else None
        return tuple(parts or ())

    def to_wire(self) -> dict[str, object]:
        """Return the message as data; absent fields are left out."""
        fields = {
            "id": self.id,
            "number": self.number,
            "role": self.message.role.value,
            "sender": self.sender,
            "text": self.text,
            "timestamp": format_timestamp(self.timestamp),
            "replyTo": self.reply_to,
            "parts": list(self.parts) or None,
        }
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message in the stream of new messages of an agent, and its conversation."""

    conversation_id: str
    message: ConversationMessage

    def to_wire(self) -> dict[str, object]:
        """Return the message as data, with the id of its conversation."""
        return {"conversationId": self.conversation_id, **self.message.to_wire()}


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message to add to a conversation, with an id that is unique there."""

    message_id: str
    message: Message
    at_ms: int
