"""Methods on a task that only its task-manager may call: close it, add and remove participants."""

from __future__ import annotations

from ...models.errors import InvalidInput
from ...models.text.ids import moment_from_ms
from ...models.workspace.notification import NotificationKind
from ...models.workspace.task import Task, TaskStatus
from ...models.workspace.values import MAX_TASK_PARTICIPANTS, read_agent
from .context import WorkspaceMethods, check_active, managed_task


class TaskManagement(WorkspaceMethods):
    """Methods of the task-manager about tasks. Each raises NotTaskManager for all other agents."""

    def task_close(self, agent: str, task_id: str) -> Task:
        """Close an active task: its conversations are archived with one timestamp, their dialogs completed.

        A closed task does not change.

        Raises:
            NotTaskManager, TaskClosedError: it waits for its verdict, or has failed.
        """
        agent, now_ms = read_agent(agent), self._now_ms()
        with self._book.changing() as changes:
            before = managed_task(changes, agent, task_id)
            if before.status is TaskStatus.CLOSED:
                return before
            check_active(before.id, before.status)
            changes.end_task(before.id, TaskStatus.CLOSED, now_ms=now_ms)
            after = managed_task(changes, agent, task_id)
        self._notify_closed(after, by=agent)
        return after

    def task_add_participant(self, agent: str, task_id: str, participant: str) -> Task:
        """Admit an agent to an active task; one that is already admitted does not change.

        Raises:
            NotTaskManager, TaskClosedError, InvalidInput: also if the task has 1,000 participants.
        """
        agent, now_ms = read_agent(agent), self._now_ms()
        with self._book.changing() as changes:
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
        self._notify_task(NotificationKind.TASK_PARTICIPANT_ADDED, after, who, by=agent, now_ms=now_ms)
        return after

    def task_remove_participant(self, agent: str, task_id: str, participant: str) -> Task:
        """Remove an agent from a task and from all its conversations; agents that take no part are ignored.

        Raises:
            NotTaskManager, TaskClosedError, InvalidInput.
        """
        agent, now_ms = read_agent(agent), self._now_ms()
        with self._book.changing() as changes:
            before = managed_task(changes, agent, task_id)
            check_active(before.id, before.status)
            who = read_agent(participant, "participant")
            if who not in before.agents:
                return before
            changes.dismiss(before.id, who, now_ms=now_ms)
            after = managed_task(changes, agent, task_id)
        self._notify_task(NotificationKind.TASK_PARTICIPANT_REMOVED, after, who, by=agent, now_ms=now_ms)
        return after

    def _notify_task(self, kind: NotificationKind, task: Task, who: str, *, by: str, now_ms: int) -> None:
        self._notify(
            (*task.agents, task.task_manager, who), kind, task.id, at=moment_from_ms(now_ms), agent=who, by=by
        )

    def _notify_closed(self, task: Task, *, by: str) -> None:
        agents = (*task.agents, task.task_manager, by)
        self._notify(
            agents, NotificationKind.TASK_CLOSED, task.id, at=task.ended_at or task.updated_at, by=by
        )
