"""Deletes ended tasks from the archive, some at a time, with their conversations and all that was said there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import delete, func, select

from ..engine import Database
from .tables import CONVERSATION, TASK


class OldTask(NamedTuple):
    """A task that is to be deleted."""

    task_id: str
    #: In all its conversations.
    messages: int


class TaskPruner:
    """Deletes tasks. Raises ArchiveUnavailable from every method."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, *, before_ms: int, behind: str = "", limit: int = 100) -> list[OldTask]:
        """Tasks that were closed, or failed, before a time; by id, from `behind` on. Whoever has not ended stays."""
        theirs = select(func.coalesce(func.sum(CONVERSATION.c.messages), 0)).where(
            CONVERSATION.c.task == TASK.c.id
        )
        query = select(TASK.c.id, theirs.scalar_subquery()).where(
            TASK.c.id > behind, TASK.c.ended_ms < before_ms
        )
        with self._database.reading() as connection:
            found = connection.execute(query.order_by(TASK.c.id).limit(limit))
            return [OldTask(task_id, int(messages)) for task_id, messages in found]

    def delete(self, task_ids: Sequence[str]) -> None:
        """Deletes tasks with their participants, conversations, members, dialogs and messages."""
        with self._database.writing() as connection:
            connection.execute(delete(TASK).where(TASK.c.id.in_(task_ids)))
