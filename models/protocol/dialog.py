"""Dialog: the messages of a conversation, and the rules for adding to them.

The schema of a message has no fields for its speaker, turn, token, output and attachments. They are in the `data` of
the message's event, of type `dialog.message`. A message from another dialog has them below `history` in `data`:
there they show its origin and grant nothing.

Source: Dialog module, sections 2 to 6; mplp-dialog.schema.json.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from pydantic import Field, JsonValue

from ..attachments import ATTACHMENTS, Attachment, read_references
from ..errors import DialogNotActive, Locked
from ..rows import Rows
from ..text.ids import Id, Timestamp, new_id, utcnow
from ..text.words import named_texts_html
from .base import Event, Governance, Many, Meta, ProtocolObject, Text, Trace

T = TypeVar("T")

MESSAGE_EVENT = "dialog.message"
#: Key in a message's event for the participant whose turn it is, if another person speaks.
_ASKED_BY = "asked_by"
#: Keys in a message's event for its participant, turn and grant.
_PROVENANCE = ("participant_id", _ASKED_BY, "turn_number", "token_id", "fence")
_HISTORY = "history"
#: Key in a message's event for the data beside its text.
_OUTPUT = "output"
#: Key in a message's event for the reason why its text is incomplete.
_CUT = "cut"
#: Key in a message's event for the tool uses of its turn.
TOOL_USES = "tool_uses"


class CutReason(StrEnum):
    """Reason why the text of a message is incomplete."""

    #: The model reached its limit of tokens.
    LENGTH = "length"
    #: A filter of the provider removed the rest.
    FILTER = "content_filter"


#: What is shown of an incomplete message.
CUT_LINES = {
    CutReason.LENGTH: "cut off: the model reached its token limit",
    CutReason.FILTER: "cut off: a content filter removed the rest",
}


class Role(StrEnum):
    """Role of the speaker, in the terms of model providers (section 3.1)."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    AGENT = "agent"


class DialogStatus(StrEnum):
    """Status of a dialog (section 4); messages are added in `active` only."""

    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


class Message(ProtocolObject):
    """One message (section 2.3)."""

    REQUIRED: ClassVar[frozenset[str]] = frozenset({"timestamp"})

    role: Role
    content: Text
    timestamp: Timestamp = Field(default_factory=utcnow)
    event: Event | None = None

    @cached_property
    def entry_id(self) -> str | None:
        """Id of the message in the dialog of its session, where a follower can continue; None: it was not read from a session.

        It is neither a field nor compared.
        """
        return None

    def with_entry_id(self, entry_id: str) -> Self:
        """Set the id of the message in the dialog from which it was just read, and return the message."""
        self.__dict__["entry_id"] = entry_id
        return self

    @property
    def speaker(self) -> str | None:
        """Participant id of the speaker; None: the message is not from a turn."""
        return self._event_field("participant_id", str)

    @property
    def asked_by(self) -> str | None:
        """Participant id of who has the turn and asked the speaker; None: the speaker has the turn."""
        return self._event_field(_ASKED_BY, str)

    @property
    def turn_number(self) -> int | None:
        """Number of the turn of the message; None: not from a turn."""
        return self._event_field("turn_number", int)

    @property
    def token_id(self) -> str | None:
        """Execution token with which it was written."""
        return self._event_field("token_id", str)

    @property
    def fence(self) -> int | None:
        """Fencing number with which it was written."""
        return self._event_field("fence", int)

    @property
    def output(self) -> JsonValue:
        """Data beside the text, as the agent gave it; None: there is none."""
        data = self.event.data if self.event and self.event.event_type == MESSAGE_EVENT else None
        return (data or {}).get(_OUTPUT)

    @property
    def cut(self) -> CutReason | None:
        """Why its text is incomplete; None: it is not known to be."""
        reason = self._event_field(_CUT, str)
        return next((cut_reason for cut_reason in CutReason if cut_reason == reason), None)

    @property
    def tool_uses_data(self) -> list[JsonValue] | None:
        """Tool uses of its turn as JSON data, for `tool_uses_of`; None: there are none."""
        return self._event_field(TOOL_USES, list)

    @property
    def cut_line(self) -> str:
        """Line that says that the text is incomplete, and why; empty: it is not known to be."""
        return "" if self.cut is None else f"[{CUT_LINES[self.cut]}]"

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """Files of the message, without their data."""
        return read_references(self._event_field(ATTACHMENTS, list))

    @property
    def text(self) -> str:
        """Text of the message, followed by a line if it is incomplete, and by one for each attachment."""
        return "\n".join(
            filter(None, (self.content, self.cut_line, *(attachment.line for attachment in self.attachments)))
        )

    @property
    def history(self) -> Mapping[str, JsonValue]:
        """Speaker, turn, token and fencing number in the dialog from which it was taken; empty if there is none."""
        return self._event_field(_HISTORY, dict) or {}

    @property
    def former_speaker(self) -> str | None:
        """Participant id of the speaker in the dialog from which it was taken."""
        value = self.history.get("participant_id")
        return value if isinstance(value, str) else None

    @property
    def author(self) -> str | None:
        """Participant id to show as the author: the speaker or the former speaker. It grants nothing."""
        return self.speaker or self.former_speaker

    def as_history(self) -> Message:
        """Return the message for another session: its provenance moves below `history`."""
        if self.event is None or self.event.event_type != MESSAGE_EVENT:
            return self
        data = dict(self.event.data or {})
        provenance = {name: data.pop(name) for name in _PROVENANCE if name in data}
        if not provenance:
            return self
        data[_HISTORY] = {**self.history, **provenance}
        return self.changed(event=self.event.changed(data=data))

    def as_answer_to(self, participant_id: str) -> Message:
        """Return the message of a turn as the answer to the participant whose turn it is."""
        assert self.event is not None  # noqa: S101 - `build_turn_message` has set it
        return self.changed(
            event=self.event.changed(data={**(self.event.data or {}), _ASKED_BY: participant_id})
        )

    def with_output(self, output: JsonValue) -> Message:
        """Return the message of a turn with data beside its text."""
        return self._with_data(_OUTPUT, output)

    def with_cut(self, reason: CutReason) -> Message:
        """Return the message of a turn whose text is incomplete."""
        return self._with_data(_CUT, reason.value)

    def with_tool_uses_data(self, uses: list[JsonValue]) -> Message:
        """Return the last message of a turn with the tool uses of the turn."""
        return self._with_data(TOOL_USES, uses)

    def without_tool_uses_data(self) -> Message:
        """Return the message without tool uses."""
        if self.event is None or self.tool_uses_data is None:
            return self
        data = {name: value for name, value in (self.event.data or {}).items() if name != TOOL_USES}
        return self.changed(event=self.event.changed(data=data))

    def _with_data(self, name: str, value: JsonValue) -> Message:
        assert self.event is not None  # noqa: S101 - `build_turn_message` has set it
        return self.changed(event=self.event.changed(data={**(self.event.data or {}), name: value}))

    def with_attachments(self, attachments: Sequence[Attachment]) -> Message:
        """Return the message with these files instead of its own; a message without an event gets one."""
        attachment_data: list[JsonValue] = [attachment.model_dump(mode="json") for attachment in attachments]
        event = self.event
        if event is None or event.event_type != MESSAGE_EVENT:
            event = Event(event_type=MESSAGE_EVENT, source="user", timestamp=self.timestamp)
        return self.changed(event=event.changed(data={**(event.data or {}), ATTACHMENTS: attachment_data}))

    @property
    def turn_data(self) -> Mapping[str, JsonValue]:
        """Data of the message's event as it is stored; empty if there is none."""
        event = self.event
        return event.data or {} if event is not None and event.event_type == MESSAGE_EVENT else {}

    def _event_field(self, name: str, kind: type[T]) -> T | None:
        value = self.turn_data.get(name)
        return value if isinstance(value, kind) else None


def message_digest(message: Message) -> str:
    """Return a digest of a message that is unique in its dialog."""
    identity = (message.token_id, message.speaker, message.timestamp.isoformat(), message.content)
    return sha256(repr(identity).encode()).hexdigest()[:16]


def build_turn_message(
    role: Role,
    content: str,
    *,
    timestamp: datetime,
    participant_id: str,
    turn_number: int,
    token_id: str,
    fence: int,
    trace_id: str | None = None,
) -> Message:
    """Return the message of a turn, with speaker, turn, token and fencing number in its event."""
    data: dict[str, JsonValue] = {
        "participant_id": participant_id,
        "turn_number": turn_number,
        "token_id": token_id,
        "fence": fence,
    }
    event = Event(
        event_type=MESSAGE_EVENT, source="collab", timestamp=timestamp, trace_id=trace_id, data=data
    )
    return Message(role=role, content=content, timestamp=timestamp, event=event)


class Dialog(ProtocolObject, Rows):
    """A conversation. `add_message` and `append` add messages; all other fields are fixed."""

    REQUIRED: ClassVar[frozenset[str]] = frozenset({"meta", "dialog_id", "status", "messages"})

    meta: Meta = Field(default_factory=Meta)
    governance: Governance | None = None
    dialog_id: Id = Field(default_factory=new_id)
    context_id: Id
    #: Id of the thread, which groups dialogs.
    thread_id: Id | None = None
    status: DialogStatus = DialogStatus.ACTIVE
    messages: Many[Message] = ()
    #: Start of the dialog: now for a new dialog; for a dialog that is read, its own value or None.
    started_at: Timestamp | None = None
    ended_at: Timestamp | None = None
    trace: Trace | None = None
    events: Many[Event] | None = None

    if not TYPE_CHECKING:  # type checkers see the fields instead

        def __init__(self, /, **data: Any) -> None:
            super().__init__(**({"started_at": utcnow()} | data))

        # `model_validate` does not call this, so a dialog that is read gets no default.
        __init__.__pydantic_base_init__ = True

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each message: turn, speaker, role, content, timestamp and output."""
        return [
            {
                "turn": message.turn_number,
                "speaker": message.author,
                "role": message.role.value,
                "content": message.content,
                "timestamp": message.timestamp,
                "output": message.output,
            }
            for message in self.messages
        ]

    def _repr_html_(self) -> str:
        """Return the messages as HTML, for notebooks."""
        return dialog_html("", self.messages, status=self.status.value)

    __hash__ = None  # type: ignore[assignment]  # unlike its parts, a dialog changes

    def add_message(self, role: Role, content: str, *, timestamp: datetime | None = None) -> Message:
        """Add a message to this dialog (section 7.2).

        Args:
            role: Who speaks.
            content: The text.
            timestamp: When it was said. None: now.

        Returns:
            The message.

        Raises:
            DialogNotActive: The dialog is paused, completed or cancelled (section 4.2).
            Locked: Its governance is locked.
            InvalidInput: The message itself breaks a rule.
        """
        message = Message(role=role, content=content, timestamp=timestamp or utcnow())
        self.append(message)
        return message

    def append(self, message: Message) -> None:
        """Add a message to this dialog.

        Args:
            message: The message.

        Raises:
            DialogNotActive: The dialog is paused, completed or cancelled (section 4.2).
            Locked: Its governance is locked.
        """
        if self.governance and self.governance.locked:
            raise Locked("dialog", self.dialog_id)
        if self.status is not DialogStatus.ACTIVE:
            raise DialogNotActive(self.dialog_id, self.status)
        # Bypasses the frozen fields: this is the only change of a dialog. Copies keep their own tuple.
        self.__dict__["messages"] = (*self.messages, message)


def dialog_html(title: str, messages: Iterable[Message], *, status: str) -> str:
    """Return messages as HTML, with a title above and a status below."""
    texts = (
        (message.author or message.role.value, "\n".join(filter(None, (message.content, message.cut_line))))
        for message in messages
    )
    return named_texts_html(title, texts, status=status)
