"""A task with a task-manager, three participants and a conversation, and the workspace they act in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symposia.archive.archive import Archive
from symposia.archive.results import ResultPage
from symposia.workspace.notifications import NotificationStreams
from symposia.workspace.service import WorkspaceService
from symposia.workspace.task_managers import TaskManagers
from symposia.workspace.values.conversation import Conversation
from symposia.workspace.values.task import Task

APP = "reviews"
#: Who manages the tasks of the app, who asks for one, who is invited, and who has nothing to do with it.
CHAIR, ANN, BEN, CYD, EVE = "chair", "ann", "ben", "cyd", "eve"
#: An id that nothing has.
NOTHING = "0b5d7f0e-6c1c-4c58-9d4b-0a4f1f4f8c11"


class Clock:
    """A clock that only tests advance."""

    def __init__(self, now_ms: int = 1_800_000_000_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms


class TaskRoom:
    """The workspace, and what most tests begin with."""

    def __init__(self, archive: Archive, board: NotificationStreams | None = None) -> None:
        self.archive = archive
        self.clock = Clock()
        self.managers = TaskManagers()
        self.managers.register(APP, lambda _request: True, agent=CHAIR)
        self.workspace = WorkspaceService(archive, board, managers=self.managers, now_ms=self.clock)

    def verdict(self, judge: Callable[..., Any], **more: Any) -> None:
        """Lets another decide about tasks."""
        self.managers.register(APP, judge, agent=CHAIR, **more)

    def task(self, *invited: str) -> Task:
        """A task that began."""
        return self.workspace.request_task(APP, ANN, invited or (BEN, CYD)).task

    def conversation(self, *members: str, task: Task | None = None) -> Conversation:
        """A conversation in its own task."""
        made = task or self.task(BEN, CYD)
        return self.workspace.conversation_create(CHAIR, made.id, members or (ANN, BEN))

    @staticmethod
    def pages(read: Callable[..., ResultPage[Any]], agent: str, *, limit: int) -> list[Any]:
        """All items of a listing, read page by page."""
        items: list[Any] = []
        cursor = None
        while True:
            page = read(agent, limit=limit, cursor=cursor)
            items += page.items
            if (cursor := page.cursor) is None:
                return items

    def said(self, conversation: Conversation, agent: str = ANN) -> list[str]:
        """All texts, oldest first."""
        texts: list[str] = []
        cursor = None
        while True:
            page = self.workspace.history(agent, conversation.id, limit=100, cursor=cursor)
            texts[:0] = [it.text for it in page.items]
            if (cursor := page.cursor) is None:
                return texts
