"""The parts of an installation that a client uses: opened lazily, closed together."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cached_property, partial
from typing import TYPE_CHECKING

from celery import Celery

from ..config.settings import Settings
from ..reviews.schedules.celery_tasks import send_schedule_task
from ..reviews.schedules.checks import check_names
from ..reviews.schedules.schedules import Schedules
from ..state.redis.connect import connect
from ..state.schedules.store import ScheduleStore
from .app import create_client_app
from .memory import dialog_memory, memory_url
from .reviews import build_review_context
from .sessions import Sessions
from .workspace import open_conversations

if TYPE_CHECKING:
    from ..reviews.batches.context import ReviewContext
    from ..state.memory.rooms import DialogMemory
    from ..tasks.workspace.service import WorkspaceService


class Installation:
    """The parts of one installation that a client uses.

    Args:
        settings: The settings of the installation.
        app: A Celery app that sends the tasks. None: one of its own, which `close` closes.
        worker_grace_s: As in `SessionSelection`.
    """

    def __init__(self, settings: Settings, app: Celery | None, *, worker_grace_s: float = 0.0) -> None:
        self._settings = settings
        self._opened = ExitStack()
        self.app = create_client_app(settings, self._opened) if app is None else app
        self.sessions = Sessions(settings, self.app, worker_grace_s=worker_grace_s)
        self._opened.callback(self.sessions.close)
        self.redis = self.sessions.connections.redis

    @cached_property
    def schedules(self) -> Schedules:
        """The schedules."""
        return Schedules(
            ScheduleStore(self.redis),
            partial(send_schedule_task, self.app),
            partial(check_names, workers=self.sessions.workers),
        )

    @cached_property
    def memory(self) -> DialogMemory:
        """The dialog memory."""
        client = connect(memory_url(self._settings), retries=1)
        self._opened.callback(client.close)
        return dialog_memory(self._settings, client, sessions=self.redis)

    @cached_property
    def reviews(self) -> ReviewContext:
        """Services that run reviews."""
        return build_review_context(self.app, self._settings, self.redis, self.sessions.archive)

    @cached_property
    def conversations(self) -> WorkspaceService:
        """Tasks and conversations. Raises ArchiveError without an archive."""
        return open_conversations(self._settings, self.sessions.archive, opened=self._opened)

    def close(self) -> None:
        """Close all connections that were opened here. A second call does nothing."""
        self._opened.close()
