"""Notifications to agents about the tasks and conversations they take part in."""

from __future__ import annotations

from enum import StrEnum

from ..text.ids import Id, Timestamp
from .values import AgentId, CamelProtocolObject


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
    """One thing that happened."""

    kind: NotificationKind
    task_id: Id
    conversation_id: Id | None = None
    #: The agent that it happened to, where it happened to one.
    agent: AgentId | None = None
    #: The agent that did it; None: no agent, such as a sweep.
    by: AgentId | None = None
    at: Timestamp
