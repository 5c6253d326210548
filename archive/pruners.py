"""Deletion of old sessions, review runs and tasks from the archive in batches, with all their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import delete, exists, func, select, tuple_

from ..reviews.archive.tables import FINDING, REVIEW_ITEM, REVIEW_RUN
from ..reviews.values.runs import ItemKind
from ..workspace.sql.tables import CONVERSATION, TASK
from .engine import Database
from .tables import ATTACHMENT, BLOB, COLLAB


class ExpiredSession(NamedTuple):
    """A session to delete."""

    row: int
    session_id: str
    opened_ms: int
    messages: int


class ArchivePruner:
    """Finder and deleter of old sessions. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(
        self, *, before_ms: int | None = None, user: str | None = None, after_row: int = 0, limit: int = 100
    ) -> list[ExpiredSession]:
        """Return sessions that ended, or last changed, before a time, and that used a user's memory (None: any).

        They are in the order of their rows, after the row `after_row`.
        """
        query = select(COLLAB.c.id, COLLAB.c.collab_id, COLLAB.c.opened_ms, COLLAB.c.messages)
        query = query.where(COLLAB.c.id > after_row)
        if before_ms is not None:
            query = query.where(func.coalesce(COLLAB.c.ended_ms, COLLAB.c.updated_ms) < before_ms)
        if user is not None:
            query = query.where(COLLAB.c.user_id == user)
        with self._database.reading() as connection:
            return [
                ExpiredSession(*it) for it in connection.execute(query.order_by(COLLAB.c.id).limit(limit))
            ]

    def delete(self, rows: Sequence[int]) -> None:
        """Delete sessions with their messages, events and turns; `delete_unused_attachments` deletes their files."""
        with self._database.writing() as connection:
            connection.execute(delete(COLLAB).where(COLLAB.c.id.in_(rows)))

    def delete_unused_attachments(self, *, limit: int = 500) -> None:
        """Delete the attachments that no session has, in batches.

        An attachment that an archiver adds to a session meanwhile is locked, and stays.
        """
        is_used = exists().where(ATTACHMENT.c.sha256 == BLOB.c.sha256)
        unused = select(BLOB.c.sha256).where(~is_used).limit(limit).with_for_update(skip_locked=True)
        free: list[str] | None = None
        while free is None or len(free) == limit:
            with self._database.writing() as connection:
                free = list(connection.execute(unused).scalars())
                # Checked again: an archiver may have added one before it was locked.
                connection.execute(delete(BLOB).where(BLOB.c.sha256.in_(free), ~is_used))


class ReviewPruner:
    """Finder and deleter of old review runs. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, *, before_ms: int, after_row: int = 0, limit: int = 100) -> list[int]:
        """Return the rows of runs that ended (or began, if they never ended) before a time, after the row `after_row`.

        The newest run of a root and a panel is kept at any age, because the next run is compared with it.
        """
        newest = select(func.max(REVIEW_RUN.c.id)).group_by(REVIEW_RUN.c.root, REVIEW_RUN.c.panel)
        query = (
            select(REVIEW_RUN.c.id)
            .where(REVIEW_RUN.c.id > after_row, REVIEW_RUN.c.id.not_in(newest))
            .where(func.coalesce(REVIEW_RUN.c.ended_ms, REVIEW_RUN.c.started_ms) < before_ms)
        )
        with self._database.reading() as connection:
            return list(connection.execute(query.order_by(REVIEW_RUN.c.id).limit(limit)).scalars())

    def delete(self, rows: Sequence[int]) -> None:
        """Delete runs with their items and findings."""
        with self._database.writing() as connection:
            connection.execute(delete(REVIEW_RUN).where(REVIEW_RUN.c.id.in_(rows)))

    def delete_session_results(self, session_ids: Sequence[str]) -> None:
        """Delete the results of reviews of archived sessions, in all runs with these sessions as items."""
        item = REVIEW_ITEM.c
        keys = [f"session:{session_id}" for session_id in session_ids]
        about_them = (item.kind == ItemKind.SESSION.value) & item.item_key.in_(keys)
        places = select(item.run, item.path).where(about_them)
        with self._database.writing() as connection:
            connection.execute(delete(FINDING).where(tuple_(FINDING.c.run, FINDING.c.path).in_(places)))
            connection.execute(delete(REVIEW_ITEM).where(about_them))


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
