"""Builds the desk of tasks and conversations of an installation from its settings."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ..agents.runner import AgentRunner
from ..config.secrets import known_secrets
from ..config.settings import Settings
from ..models.errors import ArchiveError
from ..state.connect import connect
from ..state.notices import NoticeBoard
from ..tasks.conversations.agents import AgentJudge
from ..tasks.conversations.service import Conversations
from ..tasks.conversations.together import Placing
from .archive import open_archive
from .connection import redis_url_in_use, urls_in_use
from .runtime import load_registry

if TYPE_CHECKING:
    from ..archive.archive import Archive

#: Seconds that telling a notice may take: nobody waits for it.
_PATIENCE_S = 2.0


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
