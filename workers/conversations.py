"""Tasks and conversations of an installation: their desk, and the thread of a worker that looks for tasks left waiting."""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING, Any

from ..agents.runner import AgentRunner
from ..config.secrets import known_secrets
from ..config.settings import Settings
from ..models.errors import ArchiveError
from ..state.connect import connect
from ..state.notices import NoticeBoard
from ..tasks.conversations.agents import AgentJudge
from ..tasks.conversations.requests import GRACE_MS
from ..tasks.conversations.service import Conversations
from ..tasks.conversations.together import Placing
from ..tasks.runtime import runtime_of
from .archive import open_archive
from .connection import redis_url_in_use, urls_in_use
from .rounds import RoundStep, RoundThread
from .runtime import load_registry

if TYPE_CHECKING:
    from ..archive.archive import Archive

#: Seconds that telling a notice may take: nobody waits for it.
_PATIENCE_S = 2.0
#: Seconds between two looks for tasks left waiting.
_LOOK_EVERY_S = 30.0


def open_conversations(settings: Settings, archive: Archive | None) -> Conversations:
    """The desk. Connects lazily. Raises ArchiveError: no archive is kept, and tasks live there."""
    if archive is None:
        raise ArchiveError("tasks and conversations live in the archive, and none is kept (SYMPOSIA_ARCHIVE)")
    client = connect(redis_url_in_use(settings), retries=0, timeout_s=_PATIENCE_S)

    @cache
    def judge() -> AgentJudge:
        runner = AgentRunner(
            max_message_bytes=settings.max_message_bytes, secrets=known_secrets(urls_in_use(settings))
        )
        return AgentJudge(load_registry(settings), runner)

    return Conversations(archive, NoticeBoard(client), agents=judge)


def placing(settings: Settings) -> Placing:
    """Places sessions in tasks. The archive is opened for the first that asks for it."""
    return Placing(cache(lambda: open_archive(settings)))


def left_waiting(archive: Archive) -> int:
    """How many tasks wait for a verdict that does not come, though a worker should have seen. Raises ArchiveError."""
    late_ms = GRACE_MS + int(3 * _LOOK_EVERY_S * 1000)
    with archive.tasks.reading() as pages:
        return pages.waiting(before_ms=time.time_ns() // 1_000_000 - late_ms)


class TaskStep(RoundStep):
    """Fails tasks whose request died before its verdict, as long as the worker runs, where an archive is kept."""

    what = "tasks"

    def rounds(self, worker: Any) -> RoundThread | None:
        """Nothing is connected here, and no database is made for it."""
        runtime = runtime_of(worker.app)
        if runtime.archiver is None:
            return None
        archive, board = runtime.archiver.target, NoticeBoard(runtime.store.client)
        desk = Conversations(archive, board)

        def look() -> None:
            if archive.database.is_there:
                desk.fail_left_waiting()

        return RoundThread(self.what, look, interval_s=_LOOK_EVERY_S)
