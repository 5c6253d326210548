"""The task book: transactions for changes and for reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import text

from .changes import WorkspaceChanges
from .listing import WorkspaceQueries

if TYPE_CHECKING:
    from ..database.engine import Database


class WorkspaceStore:
    """Tasks and conversations in a database. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def changing(self) -> Iterator[WorkspaceChanges]:
        """Open a write transaction: all of it is written, or nothing."""
        with self._database.writing() as connection:
            yield WorkspaceChanges(connection)

    @contextmanager
    def reading(self) -> Iterator[WorkspaceQueries]:
        """Open a read transaction with a snapshot of one instant."""
        with self._database.reading() as connection:
            if not self._database.is_sqlite:  # SQLite transactions always see one instant
                connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
            yield WorkspaceQueries(connection)
