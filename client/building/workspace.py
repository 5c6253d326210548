"""Builder of the tasks and conversations, and the count of overdue tasks."""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING

from ...config.settings import Settings
from ...models.errors import ArchiveError
from ...workspace.notifications import NotificationStreams
from ...workspace.service import WorkspaceService
from ...workspace.sql.store import WorkspaceStore
from ...workspace.task_requests import GRACE_MS
from .connection import connect_in_use

if TYPE_CHECKING:
    from ...archive.archive import Archive
    from ...workspace.task_managers import AgentVerdicts

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
    client = connect_in_use(settings, retries=0, timeout_s=_NOTIFY_TIMEOUT_S)
    opened.callback(client.close)

    @cache
    def judge() -> AgentVerdicts:
        # Imported here: only a request for a task needs agents.
        from ...agents.execution.runner import AgentRunner
        from ...workspace.task_managers import AgentVerdicts
        from .broker import secrets_in_use
        from .runtime import load_registry

        runner = AgentRunner(max_message_bytes=settings.max_message_bytes, secrets=secrets_in_use(settings))
        return AgentVerdicts(load_registry(settings, import_modules=True), runner)

    return WorkspaceService(archive, NotificationStreams(client), agents=judge)


def count_overdue_tasks(archive: Archive) -> int:
    """Return the number of tasks with an overdue verdict that no worker has ended.

    Raises:
        ArchiveError: The archive cannot be read.
    """
    late_ms = GRACE_MS + int(3 * OVERDUE_CHECK_INTERVAL_S * 1000)
    with WorkspaceStore(archive.database).reading() as pages:
        return pages.count_overdue_tasks(before_ms=time.time_ns() // 1_000_000 - late_ms)
