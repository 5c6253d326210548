"""What all methods share: the clock, the book, the notices, and the checks that come first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from ...models.errors import (
    InvalidInput,
    NotTaskManager,
    ParticipantNotAdmittedError,
    TaskClosedError,
)
from ...models.ids import is_uuid4
from ...models.tasks.notice import Notice, NoticeKind
from ...models.tasks.task import Task, TaskStatus
from ...models.tasks.values import MOST
from ...state.notices import NoticeBoard

if TYPE_CHECKING:
    from ...archive.archive import Archive
    from ...archive.conversations.book import TaskBook
    from ...archive.conversations.changes import Changes
    from ...models.tasks.conversation import Conversation


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class Desk:
    """Where agents act. Safe to use from several threads.

    Args:
        archive: the database; it is brought up to date when it is first used.
        board: where notices are told; None: nobody is told.
        now_ms: the time, in milliseconds since the epoch.
    """

    def __init__(
        self, archive: Archive, board: NoticeBoard | None = None, *, now_ms: Callable[[], int] = _now_ms
    ) -> None:
        self._archive = archive
        self._board = board
        self._now_ms = now_ms

    @property
    def _book(self) -> TaskBook:
        self._archive.prepare()
        return self._archive.tasks

    def _tell(
        self,
        agents: Iterable[str],
        kind: NoticeKind,
        task_id: str,
        *,
        at: datetime,
        conversation_id: str | None = None,
        agent: str | None = None,
        by: str | None = None,
    ) -> None:
        if self._board is not None:
            notice = Notice(
                kind=kind, task_id=task_id, conversation_id=conversation_id, agent=agent, by=by, at=at
            )
            self._board.tell(agents, notice)


def managed_task(changes: Changes, agent: str, task_id: str) -> Task:
    """The task, locked, if this agent manages it. Raises NotTaskManager, also where there is no such task."""
    task = changes.lock_task(as_id(task_id))
    if task is None or task.task_manager != agent:
        raise NotTaskManager(agent, task_id)
    return task


def managed_conversation(changes: Changes, agent: str, conversation_id: str) -> tuple[Task, Conversation]:
    """The conversation and its task, locked, if this agent manages it. Raises NotTaskManager as `managed_task` does."""
    task_id = changes.task_of(as_id(conversation_id))
    task = None if task_id is None else changes.lock_task(task_id)
    if task is None or task.task_manager != agent:
        raise NotTaskManager(agent, conversation_id)
    return task, changes.conversation(as_id(conversation_id))


def check_active(task_id: str, status: TaskStatus) -> None:
    """Raises TaskClosedError."""
    if status is not TaskStatus.ACTIVE:
        raise TaskClosedError(task_id, status)


def check_admitted(task: Task, agents: Iterable[str]) -> None:
    """Raises ParticipantNotAdmittedError, which names all that the task has not admitted."""
    admitted = set(task.agents)
    if unknown := [agent for agent in agents if agent not in admitted]:
        raise ParticipantNotAdmittedError(task.id, unknown)


def check_limit(limit: object) -> int:
    """How many rows of a page are wanted. Raises InvalidInput."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST:
        raise InvalidInput("limit", limit, f"must be from 1 to {MOST}")
    return limit


def as_id(text: object) -> str:
    """An id as it is kept; what is none is the id of nothing."""
    lower = text.lower() if isinstance(text, str) else ""
    return lower if is_uuid4(lower) else ""
