"""Deletes sessions from the archive, some at a time, with all that belongs to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import delete, func, select

from .engine import Database
from .tables import COLLAB


class Old(NamedTuple):
    """A session that is to be deleted."""

    row: int
    session_id: str
    opened_ms: int
    messages: int


class ArchivePruner:
    """Deletes sessions. Raises ArchiveUnavailable from every method."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(
        self, *, before_ms: int | None = None, user: str | None = None, behind: int = 0, limit: int = 100
    ) -> list[Old]:
        """Sessions that ended, or changed last, before a time, and that used a user's memory; by row, from `behind` on."""
        query = select(COLLAB.c.id, COLLAB.c.collab_id, COLLAB.c.opened_ms, COLLAB.c.messages)
        query = query.where(COLLAB.c.id > behind)
        if before_ms is not None:
            query = query.where(func.coalesce(COLLAB.c.ended_ms, COLLAB.c.updated_ms) < before_ms)
        if user is not None:
            query = query.where(COLLAB.c.user_id == user)
        with self._database.reading() as connection:
            return [Old(*it) for it in connection.execute(query.order_by(COLLAB.c.id).limit(limit))]

    def delete(self, rows: Sequence[int]) -> None:
        """Deletes sessions with their messages, events and turns."""
        with self._database.writing() as connection:
            connection.execute(delete(COLLAB).where(COLLAB.c.id.in_(rows)))
