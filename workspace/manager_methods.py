"""Methods on tasks and conversations that only the task-manager may call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..models.errors import InvalidInput
from ..models.text.ids import moment_from_ms
from .base import (
    WorkspaceMethods,
    check_active,
    check_admitted,
    check_member_limit,
    create_conversation,
    managed_conversation,
    managed_task,
)
from .values.conversation import (
    MAX_TASK_PARTICIPANTS,
    UNCHANGED,
    Conversation,
    Metadata,
    Unchanged,
    read_agent,
    read_agents,
)
from .values.task import InitialConversation, NotificationKind, Task, TaskStatus


class ConversationManagement(WorkspaceMethods):
    """Methods of the task-manager about conversations. Each raises NotTaskManager for every other agent."""

    def conversation_create(
        self,
        agent: str,
        task_id: str,
        participants: Iterable[str] = (),
        *,
        name: str | None = None,
        metadata: Metadata | dict[str, Any] | None = None,
    ) -> Conversation:
        """Create a conversation in an active task (the second minting path).

        Args:
            agent: The calling agent.
            task_id: The task.
            participants: Its members, from 1 to 256, all admitted to the task.
            name: 1 to 100 characters.
            metadata: `{"tags": [{"key": "value"}]}`.

        Returns:
            The new conversation.

        Raises:
            NotTaskManager: The caller is not the task-manager, or the task does not exist.
            TaskClosedError: The task is not active.
            ParticipantNotAdmittedError: The task has not admitted one of the agents.
            ConversationFullError: The conversation would have too many members.
            InvalidInput: An argument breaks a rule.
            ArchiveUnavailable: The database does not answer; nothing was changed.
        """
        agent, now_ms = read_agent(agent), self._now_ms()
        with self._store.changing() as changes:
            task = managed_task(changes, agent, task_id)
            check_active(task.id, task.status)
            members = read_agents(participants)
            wanted = _check_changes(name, metadata)
            made = create_conversation(
                changes, task, members, name=wanted.name, by=agent, metadata=wanted.metadata, now_ms=now_ms
            )
        self._notify(NotificationKind.CONVERSATION_CREATED, task, made, at=made.created_at, by=agent)
        return made

    def conversation_update(
        self,
        agent: str,
        conversation_id: str,
        *,
        name: str | Unchanged | None = UNCHANGED,
        metadata: Metadata | dict[str, Any] | Unchanged | None = UNCHANGED,
    ) -> Conversation:
        """Change the name or the tags of a conversation, archived or not.

        Args:
            agent: The calling agent.
            conversation_id: The conversation.
            name: 1 to 100 characters; None removes the name; without the argument it does not change.
            metadata: `{"tags": [{"key": "value"}]}`, replaces all tags; None removes them; without the argument
                they do not change.

        Returns:
            The conversation as it is now.

        Raises:
            NotTaskManager: The caller is not the task-manager, or the conversation does not exist.
            TaskClosedError: The task is not active.
            InvalidInput: An argument breaks a rule.
            ArchiveUnavailable: The database does not answer; nothing was changed.
        """
        agent, now_ms = read_agent(agent), self._now_ms()
        with self._store.changing() as changes:
            task, before = managed_conversation(changes, agent, conversation_id)
            check_active(task.id, task.status)
            wanted = _check_changes(
                before.name if name is UNCHANGED else name,
                before.metadata if metadata is UNCHANGED else metadata,
            )
            if (wanted.name, wanted.metadata) == (before.name, before.metadata):
                return before
            changes.describe(before.id, name=wanted.name, metadata=wanted.metadata, now_ms=now_ms)
            after = changes.conversation(before.id)
        self._notify(NotificationKind.CONVERSATION_UPDATED, task, after, at=moment_from_ms(now_ms), by=agent)
        return after

    def archive(self, agent: str, conversation_id: str) -> Conversation:
        """Archive a conversation: it accepts no messages, and its dialog pauses.

        A repeated call keeps the first timestamp.

        Args:
            agent: The calling agent.
            conversation_id: The conversation.

        Returns:
            The conversation as it is now.

        Raises:
            NotTaskManager: The caller is not the task-manager, or the conversation does not exist.
            ArchiveUnavailable: The database does not answer; nothing was changed.
        """
        agent, now_ms = read_agent(agent), self._now_ms()
        with self._store.changing() as changes:
            task, before = managed_conversation(changes, agent, conversation_id)
            if before.archived_at is not None:
                return before
            changes.archive(before.id, now_ms=now_ms)
            after = changes.conversation(before.id)
        self._notify(NotificationKind.CONVERSATION_ARCHIVED, task, after, at=moment_from_ms(now_ms), by=agent)
        return after

    def unarchive(self, agent: str, conversation_id: str) -> Conversation:
        """Unarchive a conversation; one that is not archived does not change.

        Args:
            agent: The calling agent.
            conversation_id: The conversation.

        Returns:
            The conversation as it is now.

        Raises:
            NotTaskManager: The caller is not the task-manager, or the conversation does not exist.
            TaskClosedError: The task is not active; closing a task archives its conversations permanently.
            ArchiveUnavailable: The database does not answer; nothing was changed.
        """
        agent, now_ms = read_agent(agent), self._now_ms()
        with self._store.changing() as changes:
            task, before = managed_conversation(changes, agent, conversation_id)
            check_active(task.id, task.status)
            if before.archived_at is None:
                return before
            changes.unarchive(before.id, now_ms=now_ms)
            after = changes.conversation(before.id)
        self._notify(
            NotificationKind.CONVERSATION_UNARCHIVED, task, after, at=moment_from_ms(now_ms), by=agent
        )
        return after

    def participants_add(self, agent: str, conversation_id: str, participants: Iterable[str]) -> Conversation:
        """Make agents that the task has admitted members; existing members do not change.

        Args:
            agent: The calling agent.
            conversation_id: The conversation.
            participants: The agents.

        Returns:
            The conversation as it is now.

        Raises:
            NotTaskManager: The caller is not the task-manager, or the conversation does not exist.
            TaskClosedError: The task is not active.
            ParticipantNotAdmittedError: The task has not admitted one of the agents.
            ConversationFullError: The conversation would have too many members.
            InvalidInput: A bad agent name.
            ArchiveUnavailable: The database does not answer; nothing was changed.
        """
        agent, now_ms = read_agent(agent), self._now_ms()
        with self._store.changing() as changes:
            task, before = managed_conversation(changes, agent, conversation_id)
            check_active(task.id, task.status)
            wanted = read_agents(participants)
            check_admitted(task, task.id, wanted)
            new = [name for name in wanted if name not in before.agents]
            check_member_limit(before.id, len(before.agents) + len(new))
            changes.add_members(before.id, new, now_ms=now_ms)
            after = changes.conversation(before.id)
        at = moment_from_ms(now_ms)
        for name in new:
            self._notify(NotificationKind.PARTICIPANT_ADDED, task, after, at=at, agent=name, by=agent)
        return after

    def participants_remove(
        self, agent: str, conversation_id: str, participants: Iterable[str]
    ) -> Conversation:
        """End memberships, but not all of them; agents who are not members are skipped.

        Args:
            agent: The calling agent.
            conversation_id: The conversation.
            participants: The agents.

        Returns:
            The conversation as it is now.

        Raises:
            NotTaskManager: The caller is not the task-manager, or the conversation does not exist.
            InvalidInput: A bad agent name, or no member would be left.
            ArchiveUnavailable: The database does not answer; nothing was changed.
        """
        agent, now_ms = read_agent(agent), self._now_ms()
        with self._store.changing() as changes:
            task, before = managed_conversation(changes, agent, conversation_id)
            wanted = read_agents(participants)
            if before.agents and set(before.agents) <= set(wanted):
                rule = "must leave a member in the conversation, or archive it instead"
                raise InvalidInput("participants", ", ".join(wanted), rule)
            gone = [name for name in wanted if changes.remove_member(before.id, name, now_ms=now_ms)]
            after = changes.conversation(before.id)
        at = moment_from_ms(now_ms)
        for name in gone:
            self._notify(NotificationKind.PARTICIPANT_REMOVED, task, after, at=at, agent=name, by=agent)
        return after


def _check_changes(name: object, metadata: object) -> InitialConversation:
    """Return valid name and metadata in their stored form. Raises InvalidInput."""
    given: dict[str, Any] = {"name": name, "metadata": metadata}
    return InitialConversation(**given)


class TaskManagement(WorkspaceMethods):
    """Methods of the task-manager about tasks. Each raises NotTaskManager for all other agents."""

    def task_close(self, agent: str, task_id: str) -> Task:
        """Close an active task: archive its conversations with one timestamp, and complete their dialogs.

        A closed task does not change.

        Args:
            agent: The calling agent.
            task_id: The task.

        Returns:
            The task as it is now.

        Raises:
            NotTaskManager: The caller is not the task-manager, or the task does not exist.
            TaskClosedError: The task waits for its verdict, or has failed.
            ArchiveUnavailable: The database does not answer; nothing was changed.
        """
        agent, now_ms = read_agent(agent), self._now_ms()
        with self._store.changing() as changes:
            before = managed_task(changes, agent, task_id)
            if before.status is TaskStatus.CLOSED:
                return before
            check_active(before.id, before.status)
            changes.end_task(before.id, TaskStatus.CLOSED, now_ms=now_ms)
            after = managed_task(changes, agent, task_id)
        self._notify(NotificationKind.TASK_CLOSED, after, at=after.ended_at or after.updated_at, by=agent)
        return after

    def task_add_participant(self, agent: str, task_id: str, participant: str) -> Task:
        """Admit an agent to an active task; one that is already admitted does not change.

        Args:
            agent: The calling agent.
            task_id: The task.
            participant: The agent.

        Returns:
            The task as it is now.

        Raises:
            NotTaskManager: The caller is not the task-manager, or the task does not exist.
            TaskClosedError: The task is not active.
            InvalidInput: A bad agent name, or the task has 1,000 participants.
            ArchiveUnavailable: The database does not answer; nothing was changed.
        """
        agent, now_ms = read_agent(agent), self._now_ms()
        with self._store.changing() as changes:
            before = managed_task(changes, agent, task_id)
            check_active(before.id, before.status)
            who = read_agent(participant, "participant")
            if who in before.agents:
                return before
            if len(before.agents) >= MAX_TASK_PARTICIPANTS:
                raise InvalidInput(
                    "participant", who, f"exceeds the limit of {MAX_TASK_PARTICIPANTS} participants"
                )
            changes.admit(before.id, [who], now_ms=now_ms)
            after = managed_task(changes, agent, task_id)
        self._notify(
            NotificationKind.TASK_PARTICIPANT_ADDED, after, at=moment_from_ms(now_ms), agent=who, by=agent
        )
        return after

    def task_remove_participant(self, agent: str, task_id: str, participant: str) -> Task:
        """Remove an agent from a task and from all its conversations; agents that take no part are ignored.

        Args:
            agent: The calling agent.
            task_id: The task.
            participant: The agent.

        Returns:
            The task as it is now.

        Raises:
            NotTaskManager: The caller is not the task-manager, or the task does not exist.
            TaskClosedError: The task is not active.
            InvalidInput: A bad agent name.
            ArchiveUnavailable: The database does not answer; nothing was changed.
        """
        agent, now_ms = read_agent(agent), self._now_ms()
        with self._store.changing() as changes:
            before = managed_task(changes, agent, task_id)
            check_active(before.id, before.status)
            who = read_agent(participant, "participant")
            if who not in before.agents:
                return before
            changes.dismiss(before.id, who, now_ms=now_ms)
            after = managed_task(changes, agent, task_id)
        self._notify(
            NotificationKind.TASK_PARTICIPANT_REMOVED, after, at=moment_from_ms(now_ms), agent=who, by=agent
        )
        return after
