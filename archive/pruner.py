"""Deletion of old sessions from the archive in batches, with all their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import delete, exists, func, select

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
                ExpiredSession(*row) for row in connection.execute(query.order_by(COLLAB.c.id).limit(limit))
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
