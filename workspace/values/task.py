"""A task: its creator, manager, participants and status, and the notifications to its agents."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from ...models.protocol.base import Many, NonBlank, Text
from ...models.text.ids import Id, Timestamp
from .conversation import MAX_NAME, AgentId, AgentRef, CamelProtocolObject, Conversation, Metadata

#: Characters of a task-manager's reason.
MAX_REASON = 2_000


class TaskStatus(StrEnum):
    """Status of a task. The verdict moves it out of `waiting`, once; only `active` accepts changes."""

    WAITING = "waiting"
    ACTIVE = "active"
    FAILED = "failed"
    CLOSED = "closed"


class Task(CamelProtocolObject):
    """A task; its conversations are listed by `conversation_list`."""

    REQUIRED: ClassVar[frozenset[str]] = frozenset({"participants"})

    id: Id
    #: Name of the app that the request addresses; a task-manager is registered for it.
    app: NonBlank
    #: The agent that alone decides about its conversations and who takes part.
    task_manager: AgentId
    #: The agent that asked for it.
    created_by: AgentId
    status: TaskStatus
    #: Why it failed.
    reason: Text | None = None
    participants: Many[AgentRef] = ()
    created_at: Timestamp
    updated_at: Timestamp
    ended_at: Timestamp | None = None

    @property
    def agents(self) -> tuple[str, ...]:
        """Ids of those who take part, sorted."""
        return tuple(participant.id for participant in self.participants)


class InitialConversation(CamelProtocolObject):
    """The conversation that the server makes as soon as a task is accepted (the first minting path)."""

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME)] | None = None
    #: None: everyone who is admitted.
    participants: Many[AgentId] | None = None
    metadata: Metadata | None = None


class TaskRequest(CamelProtocolObject):
    """Request that a task-manager decides."""

    task_id: Id
    app: NonBlank
    initiator: AgentId
    invited: Many[AgentId] = ()
    initial_conversation: InitialConversation | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Decision of a task-manager; without one, the task is rejected."""

    accepted: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RequestedTask:
    """A task that was accepted, and the conversation that came with it."""

    task: Task
    conversation: Conversation | None = None

    def to_wire(self) -> dict[str, object]:
        """Return the result of the request as data."""
        made = {} if self.conversation is None else {"conversation": self.conversation.to_wire()}
        return {"task": self.task.to_wire(), **made}


class NotificationKind(StrEnum):
    """Kind of a notification."""

    TASK_CREATED = "task.created"
    TASK_FAILED = "task.failed"
    TASK_CLOSED = "task.closed"
    TASK_PARTICIPANT_ADDED = "task.participant.added"
    TASK_PARTICIPANT_REMOVED = "task.participant.removed"
    CONVERSATION_CREATED = "conversation.created"
    CONVERSATION_ARCHIVED = "conversation.archived"
    CONVERSATION_UNARCHIVED = "conversation.unarchived"
    CONVERSATION_UPDATED = "conversation.updated"
    PARTICIPANT_ADDED = "conversation.participant.added"
    PARTICIPANT_REMOVED = "conversation.participant.removed"


class Notification(CamelProtocolObject):
    """A notification of an agent."""

    kind: NotificationKind
    task_id: Id
    conversation_id: Id | None = None
    #: Agent that the change is about, if any.
    agent: AgentId | None = None
    #: The agent that did it; None: no agent, such as a sweep.
    by: AgentId | None = None
    at: Timestamp
