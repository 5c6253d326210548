"""Fails tasks whose request ended before its decision: a thread of every worker."""

from __future__ import annotations

from typing import Any

from ...factories.workspace import OVERDUE_CHECK_INTERVAL_S
from ...state.notifications import NotificationStreams
from ...tasks.runtime.runtime import runtime_of
from ...tasks.workspace.service import WorkspaceService
from .background_loops import BackgroundLoop, LoopStep


class TaskStep(LoopStep):
    """Fails tasks whose request ended before the decision, while the worker runs, if an archive is configured."""

    what = "tasks"

    def make_thread(self, worker: Any) -> BackgroundLoop | None:
        """Return the thread. It creates no database."""
        runtime = runtime_of(worker.app)
        if runtime.archiver is None:
            return None
        archive, board = runtime.archiver.target, NotificationStreams(runtime.store.client)
        desk = WorkspaceService(archive, board)

        def look() -> None:
            if archive.database.exists:
                desk.fail_abandoned()

        return BackgroundLoop(self.what, look, interval_s=OVERDUE_CHECK_INTERVAL_S)
