"""Deletion of sessions from the archive in batches, with all their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import delete, func, select

from ..database.engine import Database
from ..tables import COLLAB


class ExpiredSession(NamedTuple):
    """A session to delete."""

    row: int
    session_id: str
    opened_ms: int
    messages: int


class ArchivePruner:
    """Deleter of sessions. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(
        self, *, before_ms: int | None = None, user: str | None = None, behind: int = 0, limit: int = 100
    ) -> list[ExpiredSession]:
        """Return sessions that ended, or last changed, before a time, and that used a user's memory.

        The order is that of their rows, after the row `behind`.
        """
        query = select(COLLAB.c.id, COLLAB.c.collab_id, COLLAB.c.opened_ms, COLLAB.c.messages)
        query = query.where(COLLAB.c.id > behind)
        if before_ms is not None:
            query = query.where(func.coalesce(COLLAB.c.ended_ms, COLLAB.c.updated_ms) < before_ms)
        if user is not None:
            query = query.where(COLLAB.c.user_id == user)
        with self._database.reading() as connection:
            return [
                ExpiredSession(*it) for it in connection.execute(query.order_by(COLLAB.c.id).limit(limit))
            ]

    def delete(self, rows: Sequence[int]) -> None:
        """Delete sessions with their messages, events and turns."""
        with self._database.writing() as connection:
            connection.execute(delete(COLLAB).where(COLLAB.c.id.in_(rows)))
