"""Requests for tasks: the task waits for the verdict of its task-manager, then becomes active or failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..models.errors import InvalidInput, ParticipantNotAdmittedError, TaskClosedError, TaskRejectedError
from ..models.text.ids import new_id
from .base import WorkspaceMethods, check_member_limit, create_conversation
from .task_managers import MANAGERS, AgentVerdicts, TaskManager, request_verdict
from .values.conversation import MAX_TASK_PARTICIPANTS, read_agent, read_agents
from .values.task import (
    InitialConversation,
    NotificationKind,
    RequestedTask,
    Task,
    TaskRequest,
    TaskStatus,
    Verdict,
)

if TYPE_CHECKING:
    from .sql.changes import WorkspaceChanges

Hint = InitialConversation | Mapping[str, Any]

#: Milliseconds after the verdict's deadline; after that a sweep treats its task as abandoned by a crash.
GRACE_MS = 60_000
#: Maximum number of tasks that one sweep fails.
_SOME = 100
ABANDONED_REASON = "its request ended without a decision"


class TaskRequests(WorkspaceMethods):
    """Requests for tasks."""

    def request_task(
        self,
        app: str,
        initiator: str,
        invited: Iterable[str] = (),
        initial_conversation: Hint | None = None,
    ) -> RequestedTask:
        """Request a task from an app's task-manager, and wait for its verdict.

        Args:
            app: A name that a task-manager is registered for, or the name of a registered agent.
            initiator: The agent that asks.
            invited: Other agents that take part.
            initial_conversation: `name`, `participants` (by default all) and `metadata` of a conversation that
                is created in the same transaction that makes the task active. Its creator is the initiator, who
                is always a member.

        Returns:
            The active task and its initial conversation.

        Raises:
            InvalidInput: A value breaks a rule, or the app has no task-manager; nothing was written.
            ParticipantNotAdmittedError: The conversation has a member that is neither initiator nor invited.
            TaskRejectedError: The task-manager rejected it, failed, or was late. The task is stored as failed.
            TaskClosedError: All participants left before the verdict came.
            ArchiveUnavailable: The database does not answer.
        """
        manager = (self._managers or MANAGERS).find(app)
        request = _read_request(app, initiator, invited, initial_conversation)
        if not callable(manager.verdict):
            self._verdict_source().check_agent(manager.verdict)
        self._open(request, manager)
        verdict = self._verdict(manager, request)
        made = self._decide(request, verdict)
        task = made.task
        if task.status is TaskStatus.ACTIVE:
            self._notify(NotificationKind.TASK_CREATED, task, at=task.updated_at, by=task.created_by)
            if (conversation := made.conversation) is not None:
                kind = NotificationKind.CONVERSATION_CREATED
                self._notify(kind, task, conversation, at=conversation.created_at, by=task.created_by)
            return made
        if task.status is TaskStatus.CLOSED:
            raise TaskClosedError(task.id, task.status)
        self._notify_failed(task)
        raise TaskRejectedError(task.id, task.reason or verdict.reason)

    def fail_abandoned(self) -> int:
        """Fail tasks whose request ended before the verdict.

        Returns:
            The number of failed tasks.

        Raises:
            ArchiveUnavailable: The database does not answer; nothing was changed.
        """
        before_ms = self._now_ms() - GRACE_MS
        with self._store.changing() as changes:
            failed = [
                self._failed(changes, task)
                for task in changes.overdue_tasks(before_ms=before_ms, limit=_SOME)
            ]
        tasks = [task for task in failed if task is not None]
        for task in tasks:
            self._notify_failed(task)
        return len(tasks)

    def count_abandoned(self) -> int:
        """Return the number of tasks that a sweep would fail now.

        Raises:
            ArchiveUnavailable: The database does not answer.
        """
        with self._store.reading() as queries:
            return queries.count_overdue_tasks(before_ms=self._now_ms() - GRACE_MS)

    # -- within -----------------------------------------------------------------------------

    def _verdict_source(self) -> AgentVerdicts:
        if self._agents is None:
            raise InvalidInput("app", None, "must be an app whose task-manager is registered in this process")
        return self._agents()

    def _open(self, request: TaskRequest, manager: TaskManager) -> None:
        now_ms = self._now_ms()
        decide_by_ms = now_ms + int(manager.timeout_s * 1000)
        with self._store.changing() as changes:
            changes.add_task(request, task_manager=manager.agent, now_ms=now_ms, decide_by_ms=decide_by_ms)

    def _verdict(self, manager: TaskManager, request: TaskRequest) -> Verdict:
        judge = manager.verdict
        ask = partial(request_verdict, judge) if callable(judge) else partial(self._verdict_source(), judge)
        verdict = ask(request, timeout_s=manager.timeout_s)
        # With a reason that UTF-8 cannot encode, the task would wait for its verdict until the sweep fails
        # it.
        return replace(verdict, reason=verdict.reason.encode(errors="replace").decode())

    def _decide(self, request: TaskRequest, verdict: Verdict) -> RequestedTask:
        """Apply the verdict, unless the task no longer waits for it."""
        now_ms = self._now_ms()
        with self._store.changing() as changes:
            task = _check_found(changes.lock_task(request.task_id))
            conversation = None
            if task.status is TaskStatus.WAITING and verdict.accepted:
                changes.activate(task.id, now_ms=now_ms)
                hint = request.initial_conversation
                # Do not add participants who have left in the meantime.
                members = [agent for agent in _wanted_members(request) if agent in task.agents]
                if hint is not None and members:
                    conversation = create_conversation(
                        changes,
                        task,
                        members,
                        name=hint.name,
                        by=request.initiator,
                        metadata=hint.metadata,
                        now_ms=now_ms,
                    )
            elif task.status is TaskStatus.WAITING:
                changes.end_task(task.id, TaskStatus.FAILED, now_ms=now_ms, reason=verdict.reason)
            return RequestedTask(_check_found(changes.lock_task(task.id)), conversation)

    def _failed(self, changes: WorkspaceChanges, task_id: str) -> Task | None:
        """Fail a task that still waits."""
        task = changes.lock_task(task_id)
        if task is None or task.status is not TaskStatus.WAITING:
            return None
        changes.end_task(task_id, TaskStatus.FAILED, now_ms=self._now_ms(), reason=ABANDONED_REASON)
        return changes.lock_task(task_id)

    def _notify_failed(self, task: Task) -> None:
        self._notify(NotificationKind.TASK_FAILED, task, at=task.ended_at or task.updated_at)


def _wanted_members(request: TaskRequest) -> list[str]:
    """Return the members of the initial conversation: its creator and those who were asked for, by default all."""
    hint = request.initial_conversation
    named = None if hint is None else hint.participants
    others = request.invited if named is None else named
    return list(dict.fromkeys((request.initiator, *others)))


def _check_found(task: Task | None) -> Task:
    assert task is not None  # noqa: S101 - tasks are never deleted while a caller reads them
    return task


def _read_request(app: str, initiator: str, invited: Iterable[str], hint: Hint | None) -> TaskRequest:
    initiator = read_agent(initiator, "initiator")
    guests = [name for name in read_agents(invited, "invited") if name != initiator]
    if len(guests) >= MAX_TASK_PARTICIPANTS:
        raise InvalidInput("invited", len(guests), f"must have fewer than {MAX_TASK_PARTICIPANTS} entries")
    request = TaskRequest(
        task_id=new_id(),
        app=app,
        initiator=initiator,
        invited=guests,
        initial_conversation=_read_hint(hint),
    )
    wanted = request.initial_conversation and request.initial_conversation.participants
    if unknown := [name for name in wanted or () if name not in (initiator, *guests)]:
        raise ParticipantNotAdmittedError(request.task_id, unknown)
    if (made := request.initial_conversation) is not None:
        check_member_limit(made.name or "initial_conversation", len(_wanted_members(request)))
    return request


def _read_hint(hint: object) -> InitialConversation | None:
    if hint is None or isinstance(hint, InitialConversation):
        return hint
    if not isinstance(hint, Mapping):
        raise InvalidInput("initial_conversation", hint, "must be a table of name, participants and metadata")
    try:
        return InitialConversation(**{str(name): value for name, value in hint.items()})
    except InvalidInput as error:
        raise error.within("initial_conversation") from None
