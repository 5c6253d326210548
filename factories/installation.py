"""The parts of an installation that a client uses, and the builder of its workspace.

The parts are opened lazily and closed together.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

from celery import Celery

from ..agents.execution.runner import AgentRunner
from ..config.settings import Settings, known_secrets
from ..models.errors import ArchiveError
from ..reviews.schedules.celery_tasks import send_schedule_task
from ..reviews.schedules.schedules import Schedules, check_names
from ..state.notifications import NotificationStreams
from ..state.redis.connect import connect
from ..state.schedule_store import ScheduleStore
from ..tasks.workspace.service import WorkspaceService
from ..tasks.workspace.task_managers import AgentVerdicts
from ..tasks.workspace.task_requests import GRACE_MS
from .app import build_review_context, create_client_app
from .connection import redis_url_in_use, urls_in_use
from .runtime import load_registry
from .sessions import Sessions
from .storage import dialog_memory, memory_url

if TYPE_CHECKING:
    from ..archive.archive import Archive
    from ..reviews.batches.context import ReviewContext
    from ..state.memory.rooms import DialogMemory

#: Timeout of publishing a notification in seconds.
_NOTIFY_TIMEOUT_S = 2.0
#: Seconds between two checks for overdue tasks.
OVERDUE_CHECK_INTERVAL_S = 30.0


def open_conversations(settings: Settings, archive: Archive | None, *, opened: ExitStack) -> WorkspaceService:
    """Return the tasks and conversations in an archive. Connects lazily; `opened` closes the connections.

    Raises:
        ArchiveError: No archive is configured; it stores the tasks.
    """
    if archive is None:
        raise ArchiveError("tasks and conversations need the archive, which is disabled (SYMPOSIA_ARCHIVE)")
    client = connect(redis_url_in_use(settings), retries=0, timeout_s=_NOTIFY_TIMEOUT_S)
    opened.callback(client.close)

    @cache
    def judge() -> AgentVerdicts:
        runner = AgentRunner(
            max_message_bytes=settings.max_message_bytes, secrets=known_secrets(urls_in_use(settings))
        )
        return AgentVerdicts(load_registry(settings), runner)

    return WorkspaceService(archive, NotificationStreams(client), agents=judge)


def count_overdue_tasks(archive: Archive) -> int:
    """Return the number of tasks with an overdue verdict that no worker has ended.

    Raises:
        ArchiveError: The archive cannot be read.
    """
    late_ms = GRACE_MS + int(3 * OVERDUE_CHECK_INTERVAL_S * 1000)
    with archive.tasks.reading() as pages:
        return pages.count_overdue_tasks(before_ms=time.time_ns() // 1_000_000 - late_ms)


class Installation:
    """The parts of one installation that a client uses.

    Args:
        settings: The settings of the installation.
        app: A Celery app that sends the tasks. None: one of its own, which `close` closes.
        worker_grace_s: As in `Sessions`.
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
