"""Deletion of old tasks in batches, with their conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import delete, func, select

from ...archive.engine import Database
from .tables import CONVERSATION, TASK


class ExpiredTask(NamedTuple):
    """A task to delete."""

    task_id: str
    #: Number of messages in all its conversations.
    messages: int


class TaskPruner:
    """Finder and deleter of old tasks. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, *, before_ms: int, after_row: str = "", limit: int = 100) -> list[ExpiredTask]:
        """Return tasks that closed or failed before a time, by id, after the id `after_row`; never active tasks."""
        theirs = select(func.coalesce(func.sum(CONVERSATION.c.messages), 0)).where(
            CONVERSATION.c.task == TASK.c.id
        )
        query = select(TASK.c.id, theirs.scalar_subquery()).where(
            TASK.c.id > after_row, TASK.c.ended_ms < before_ms
        )
        with self._database.reading() as connection:
            found = connection.execute(query.order_by(TASK.c.id).limit(limit))
            return [ExpiredTask(task_id, int(messages)) for task_id, messages in found]

    def delete(self, task_ids: Sequence[str]) -> None:
        """Delete tasks with their participants, conversations, members, dialogs and messages."""
        with self._database.writing() as connection:
            connection.execute(delete(TASK).where(TASK.c.id.in_(task_ids)))
