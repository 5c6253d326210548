"""A conversation, its summary in a listing, and its messages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import Field

from ..protocol.base import Many, Text
from ..protocol.dialog import DialogStatus, Message
from ..text.ids import Id, Timestamp, format_timestamp
from .values import MAX_NAME, PREVIEW, AgentId, AgentRef, CamelProtocolObject, Metadata

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
        return tuple(it.id for it in self.participants)

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
        """When."""
        return self.message.timestamp

    @property
    def reply_to(self) -> str | None:
        """Id of the message it answers."""
        event = self.message.event
        target = (event.data or {}).get("reply_to") if event else None
        return target if isinstance(target, str) else None

    def to_wire(self) -> dict[str, object]:
        """Return the message as data; absent fields are left out."""
        told = {
            "id": self.id,
            "number": self.number,
            "role": self.message.role.value,
            "sender": self.sender,
            "text": self.text,
            "timestamp": format_timestamp(self.timestamp),
            "replyTo": self.reply_to,
        }
        return {name: value for name, value in told.items() if value is not None}


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message on its way into a conversation, where its id means it and no other."""

    message_id: str
    message: Message
    at_ms: int
