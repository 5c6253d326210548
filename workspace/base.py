"""Shared parts of the workspace methods: clock, database, notifications, checks, new conversations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ..models.errors import (
    ConversationFullError,
    InvalidInput,
    NotTaskManager,
    ParticipantNotAdmittedError,
    TaskClosedError,
)
from ..models.text.ids import new_id, normalize_id
from .notifications import NotificationStreams
from .sql.store import WorkspaceStore
from .values.conversation import MAX_MEMBERS, MAX_PAGE_SIZE, Conversation, Metadata
from .values.task import Notification, NotificationKind, Task, TaskStatus

if TYPE_CHECKING:
    from ..archive.archive import Archive
    from .sql.changes import WorkspaceChanges
    from .task_managers import AgentVerdicts, TaskManagers


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class WorkspaceMethods:
    """Context of the methods of agents. Safe to use from several threads.

    Args:
        archive: The database; it is migrated at its first use.
        notifications: Notification streams; None: no notifications are published.
        agents: Function that returns the verdicts of registered agents; None: there are none.
        managers: The registered task-managers; None: those of this process.
        now_ms: Returns the time, in milliseconds since the epoch.
    """

    def __init__(
        self,
        archive: Archive,
        notifications: NotificationStreams | None = None,
        *,
        agents: Callable[[], AgentVerdicts] | None = None,
        managers: TaskManagers | None = None,
        now_ms: Callable[[], int] = _now_ms,
    ) -> None:
        self._archive = archive
        self._notifications = notifications
        self._agents = agents
        self._managers = managers
        self._now_ms = now_ms

    @property
    def _store(self) -> WorkspaceStore:
        self._archive.prepare()
        return WorkspaceStore(self._archive.database)

    def _notify(
        self,
        kind: NotificationKind,
        task: Task,
        conversation: Conversation | None = None,
        *,
        at: datetime,
        agent: str | None = None,
        by: str | None = None,
    ) -> None:
        """Notify the members of the task or conversation, the task-manager, and the agent that it is about."""
        if self._notifications is None:
            return
        among = task if conversation is None else conversation
        agents = (*among.agents, task.task_manager, *([agent] if agent else ()))
        conversation_id = None if conversation is None else conversation.id
        notice = Notification(
            kind=kind, task_id=task.id, conversation_id=conversation_id, agent=agent, by=by, at=at
        )
        self._notifications.publish(agents, notice)


def managed_task(changes: WorkspaceChanges, agent: str, task_id: str) -> Task:
    """Return the task, locked, if this agent manages it.

    Raises:
        NotTaskManager: Also if the task does not exist.
    """
    task = changes.lock_task(normalize_id(task_id))
    if task is None or task.task_manager != agent:
        raise NotTaskManager(agent, task_id)
    return task


def managed_conversation(
    changes: WorkspaceChanges, agent: str, conversation_id: str
) -> tuple[Task, Conversation]:
    """Return the conversation and its task, locked, if this agent manages it.

    Raises:
        NotTaskManager: Also if the conversation does not exist.
    """
    task_id = changes.task_of(normalize_id(conversation_id))
    task = None if task_id is None else changes.lock_task(task_id)
    if task is None or task.task_manager != agent:
        raise NotTaskManager(agent, conversation_id)
    return task, changes.conversation(normalize_id(conversation_id))


def check_active(task_id: str, status: TaskStatus) -> None:
    """Raise TaskClosedError if the task is not active."""
    if status is not TaskStatus.ACTIVE:
        raise TaskClosedError(task_id, status)


def check_admitted(task: Task | None, task_id: str, agents: Iterable[str]) -> None:
    """Raise ParticipantNotAdmittedError, with the names of all agents that the task has not admitted."""
    admitted = frozenset(() if task is None else task.agents)
    if unknown := [agent for agent in agents if agent not in admitted]:
        raise ParticipantNotAdmittedError(task_id, unknown)


def check_limit(limit: object) -> int:
    """Return the valid number of rows of a page.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_PAGE_SIZE:
        raise InvalidInput("limit", limit, f"must be from 1 to {MAX_PAGE_SIZE}")
    return limit


def create_conversation(
    changes: WorkspaceChanges,
    task: Task,
    members: Sequence[str],
    *,
    name: str | None,
    by: str,
    metadata: Metadata | None,
    now_ms: int,
) -> Conversation:
    """Create a conversation with its dialog and its members.

    Raises:
        InvalidInput: There is no member.
        ParticipantNotAdmittedError: A member does not take part in the task.
        ConversationFullError: There are too many members.
    """
    if not members:
        raise InvalidInput("participants", (), "must have at least 1 item")
    check_admitted(task, task.id, members)
    conversation_id = new_id()
    check_member_limit(conversation_id, len(set(members)))
    changes.add_conversation(task.id, conversation_id, name=name, by=by, metadata=metadata, now_ms=now_ms)
    changes.add_members(conversation_id, list(dict.fromkeys(members)), now_ms=now_ms)
    return changes.conversation(conversation_id)


def check_member_limit(conversation_id: str, members: int) -> None:
    """Raise ConversationFullError if there are too many members."""
    if members > MAX_MEMBERS:
        raise ConversationFullError(conversation_id, limit=MAX_MEMBERS)
