"""Fails tasks whose request ended before its decision: a thread of every worker."""

from __future__ import annotations

from typing import Any

from ...factories.workspace import LOOK_EVERY_S
from ...state.notifications import NoticeBoard
from ...tasks.runtime.runtime import runtime_of
from ...tasks.workspace.service import Conversations
from .background_loops import RoundStep, RoundThread


class TaskStep(RoundStep):
    """Fails tasks whose request ended before the decision, while the worker runs, if an archive is configured."""

    what = "tasks"

    def rounds(self, worker: Any) -> RoundThread | None:
        """Return the thread. It creates no database."""
        runtime = runtime_of(worker.app)
        if runtime.archiver is None:
            return None
        archive, board = runtime.archiver.target, NoticeBoard(runtime.store.client)
        desk = Conversations(archive, board)

        def look() -> None:
            if archive.database.is_there:
                desk.fail_left_waiting()

        return RoundThread(self.what, look, interval_s=LOOK_EVERY_S)
