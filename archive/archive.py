"""The archive: one database with its readers, writers, pruners and workspace transactions.

Its schema is checked with one query and upgraded where it is older. Alembic is imported only for an upgrade,
because its import would slow down the start of every reader.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import inspect, text

from ..models.errors import ArchiveError
from .engine import Database
from .pruners import ArchivePruner, ReviewPruner, TaskPruner
from .reviews.store import ReviewReader, ReviewWriter
from .sessions.reader import ArchiveReader
from .sessions.writer import ArchiveWriter
from .workspace.changes import WorkspaceChanges
from .workspace.listing import WorkspaceQueries

#: Newest revision in `migrations/versions`.
REVISION = "0004"


def upgrade_schema(database: Database) -> None:
    """Upgrade a database that has an older schema.

    Raises:
        ArchiveUnavailable: The database does not answer.
        ArchiveError: The database has a newer schema.
    """
    revision = _revision(database) if database.exists else None
    if revision == REVISION:
        return
    if revision is not None and revision > REVISION:
        line = "run the newer Symposia, or downgrade the schema with it"
        raise ArchiveError(f"the archive has a newer schema ({revision}, supported: {REVISION}): {line}")
    from .upgrade import migrate

    migrate(database)


def _revision(database: Database) -> str | None:
    with database.reading() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        revision: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        return revision


class WorkspaceStore:
    """Tasks and conversations in a database. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def changing(self) -> Iterator[WorkspaceChanges]:
        """Open a write transaction, which writes all changes or none."""
        with self._database.writing() as connection:
            yield WorkspaceChanges(connection)

    @contextmanager
    def reading(self) -> Iterator[WorkspaceQueries]:
        """Open a read transaction with a snapshot of one instant."""
        with self._database.reading() as connection:
            if not self._database.is_sqlite:  # a SQLite transaction always has a snapshot
                connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
            yield WorkspaceQueries(connection)


class Archive:
    """Sessions, tasks and conversations in the database at `url`. The constructor does not connect.

    Args:
        url: As in `Database`.
        owns_folder: As in `Database`.
    """

    def __init__(self, url: str, *, owns_folder: bool = False) -> None:
        self.database = Database(url, owns_folder=owns_folder)
        self.writer = ArchiveWriter(self.database)
        self.reader = ArchiveReader(self.database)
        self.pruner = ArchivePruner(self.database)
        self.tasks = WorkspaceStore(self.database)
        self.task_pruner = TaskPruner(self.database)
        self.review_writer = ReviewWriter(self.database)
        self.review_reader = ReviewReader(self.database)
        self.review_pruner = ReviewPruner(self.database)
        self._is_ready = False
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Upgrade the database to the newest revision, once.

        Raises:
            ArchiveUnavailable: The database does not answer.
        """
        with self._lock:
            if not self._is_ready:
                upgrade_schema(self.database)
                self._is_ready = True

    def open_reader(self) -> ArchiveReader | None:
        """Return the reader; None: nothing is archived yet. Creates no file.

        Raises:
            ArchiveUnavailable: The database does not answer.
        """
        if not self.database.exists:
            return None
        self.prepare()
        return self.reader

    def close(self) -> None:
        """Close the connections."""
        self.database.close()
