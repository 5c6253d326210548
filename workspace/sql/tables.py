"""The tables of tasks and conversations, and the conversion of their rows. Times are milliseconds since the epoch.

The messages of a conversation are rows of `message`; its dialog is a row of `dialog`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Index, PrimaryKeyConstraint, Row
from sqlmodel import Field

from ...archive.engine import is_storable, storable_text
from ...archive.tables import METADATA, Big, Table
from ...models.protocol.dialog import Message
from ...models.text.ids import moment_from_ms
from ..values.conversation import (
    AgentRef,
    Conversation,
    ConversationMessage,
    ConversationSummary,
    Metadata,
)
from ..values.task import Task


class TaskRow(Table, table=True):
    """A task."""

    __tablename__: ClassVar[str] = "task"
    __table_args__ = (Index(None, "status", "decide_by_ms"), Index(None, "task_manager"))

    id: str = Field(primary_key=True)
    app: str
    task_manager: str
    created_by: str
    status: str
    reason: str | None = None
    #: Deadline of the verdict; a task that waits longer was abandoned in a crash.
    decide_by_ms: int = Field(sa_type=Big)
    created_ms: int = Field(sa_type=Big)
    updated_ms: int = Field(sa_type=Big)
    ended_ms: int | None = Field(default=None, sa_type=Big)


def _task(**more: Any) -> Any:
    return Field(foreign_key="task.id", ondelete="CASCADE", **more)


class TaskParticipantRow(Table, table=True):
    """An agent admitted to a task."""

    __tablename__: ClassVar[str] = "task_participant"
    __table_args__ = (PrimaryKeyConstraint("task", "agent"), Index(None, "agent", "task"))

    task: str = _task()
    agent: str
    admitted_ms: int = Field(sa_type=Big)


class ConversationRow(Table, table=True):
    """A conversation, with the data of its messages that a listing needs."""

    __tablename__: ClassVar[str] = "conversation"

    id: str = Field(primary_key=True)
    task: str = _task(index=True)
    name: str | None = None
    created_by: str
    #: Tags, as JSON.
    tags: str | None = None
    #: Number of messages, which is the `seq` of the newest one.
    messages: int = Field(default=0, sa_type=Big)
    preview: str | None = None
    #: Latest time of a message.
    last_ms: int | None = Field(default=None, sa_type=Big)
    #: `message.id` of the newest message; lets a listing exclude messages that came after its start.
    last_row: int = Field(default=0, sa_type=Big)
    archived_ms: int | None = Field(default=None, sa_type=Big)
    created_ms: int = Field(sa_type=Big)
    updated_ms: int = Field(sa_type=Big)


class ConversationParticipantRow(Table, table=True):
    """A current or former member of a conversation; the read position is kept after it leaves."""

    __tablename__: ClassVar[str] = "conversation_participant"
    __table_args__ = (PrimaryKeyConstraint("conversation", "agent"), Index(None, "agent", "conversation"))

    conversation: str = Field(foreign_key="conversation.id", ondelete="CASCADE")
    agent: str
    joined_ms: int = Field(sa_type=Big)
    #: Time at which it left; None: it is a member.
    left_ms: int | None = Field(default=None, sa_type=Big)
    #: `seq` of the newest message that it has read.
    read_seq: int = Field(default=0, sa_type=Big)


TASK = METADATA.tables["task"]
TASK_PARTICIPANT = METADATA.tables["task_participant"]
CONVERSATION = METADATA.tables["conversation"]
MEMBER = METADATA.tables["conversation_participant"]


def task_from_row(row: Row[Any], agents: Iterable[str]) -> Task:
    """Convert a row of `task` and its participants."""
    return Task(
        id=row.id,
        app=row.app,
        task_manager=row.task_manager,
        created_by=row.created_by,
        status=row.status,
        reason=row.reason,
        participants=_refs(agents),
        created_at=moment_from_ms(row.created_ms),
        updated_at=moment_from_ms(row.updated_ms),
        ended_at=_optional_moment(row.ended_ms),
    )


def conversation_from_row(row: Row[Any], agents: Iterable[str]) -> Conversation:
    """Convert a row of `conversation` with the `status` of its dialog, and its members."""
    return Conversation(
        id=row.id,
        task_id=row.task,
        name=row.name,
        created_by=row.created_by,
        metadata=_metadata(row.tags),
        last_message_timestamp=_optional_moment(row.last_ms),
        archived_at=_optional_moment(row.archived_ms),
        created_at=moment_from_ms(row.created_ms),
        updated_at=moment_from_ms(row.updated_ms),
        dialog_status=row.status,
        participants=_refs(agents),
    )


def summary_from_row(row: Row[Any], agents: Iterable[str], *, unread: int) -> ConversationSummary:
    """Convert a row of `conversation` for a listing."""
    return ConversationSummary(
        id=row.id,
        name=row.name,
        last_message_preview=row.preview,
        last_message_timestamp=_optional_moment(row.last_ms),
        unread_count=unread,
        archived_at=_optional_moment(row.archived_ms),
        metadata=_metadata(row.tags),
        participants=_refs(agents),
    )


def message_from_row(row: Row[Any]) -> ConversationMessage:
    """Convert a row of `message`."""
    message = Message.model_validate({"content": row.content, **json.loads(row.rest)})
    return ConversationMessage(row.message_id, row.seq, message)


def message_columns(message: Message) -> dict[str, str]:
    """Return a message as two columns: its text for search, and the rest as JSON."""
    data = message.to_wire()
    if is_storable(message.content):
        del data["content"]
    return {
        "content": storable_text(message.content),
        "rest": json.dumps(data, ensure_ascii=False, separators=(",", ":")),
    }


def tags_of(metadata: Metadata | None) -> str | None:
    """Return the tags in the format of the column."""
    return None if metadata is None else metadata.to_json()


def _optional_moment(ms: int | None) -> datetime | None:
    return None if ms is None else moment_from_ms(ms)


def _metadata(text: str | None) -> Metadata | None:
    return None if text is None else Metadata.model_validate_json(text)


def _refs(agents: Iterable[str]) -> list[AgentRef]:
    return [AgentRef(id=agent) for agent in sorted(agents)]
