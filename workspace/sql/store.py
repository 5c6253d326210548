"""Transactions on tasks and conversations. Each part is imported when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from ...archive.engine import Database
    from ...models.sessions.archived import ArchivePage
    from .changes import WorkspaceChanges
    from .listing import WorkspaceQueries


class WorkspaceStore:
    """Tasks and conversations in a database. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def changing(self) -> Iterator[WorkspaceChanges]:
        """Open a write transaction, which writes all changes or none."""
        from .changes import WorkspaceChanges

        with self._database.writing() as connection:
            yield WorkspaceChanges(connection)

    @contextmanager
    def reading(self) -> Iterator[WorkspaceQueries]:
        """Open a read transaction with a snapshot of one instant."""
        from sqlalchemy import text

        from .listing import WorkspaceQueries

        with self._database.reading() as connection:
            if not self._database.is_sqlite:  # a SQLite transaction always has a snapshot
                connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
            yield WorkspaceQueries(connection)


def deliver_to_conversation() -> Callable[[Connection, ArchivePage], None]:
    """Return the function that writes the messages of a page into the conversation of the session, if it has one."""
    from .messages import deliver_session_messages

    return deliver_session_messages
