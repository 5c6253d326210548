"""The tables of tasks and conversations. Times are milliseconds since the epoch.

The messages of a conversation are rows of `message`; its dialog is a row of `dialog`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import Index, PrimaryKeyConstraint
from sqlmodel import Field

from ..tables import METADATA, Big, Table


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
