"""The archive: one database with its writers, readers, pruners and the task book."""

from __future__ import annotations

import threading

from .database.engine import Database
from .reviews.pruner import ReviewPruner
from .reviews.reader import ReviewReader
from .reviews.writer import ReviewWriter
from .schema import upgrade_schema
from .sessions.pruner import ArchivePruner
from .sessions.reader import ArchiveReader
from .sessions.writer import ArchiveWriter
from .workspace.pruner import TaskPruner
from .workspace.store import WorkspaceStore


class Archive:
    """Sessions, tasks and conversations in the database at `url`. The constructor does not connect.

    Args:
        url: See `Database`.
        owns_folder: See `Database`.
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
        """Bring the database to the newest revision, once. Raises ArchiveUnavailable."""
        with self._lock:
            if not self._is_ready:
                upgrade_schema(self.database)
                self._is_ready = True

    def open_reader(self) -> ArchiveReader | None:
        """Return the reader, or None if nothing was archived yet; creates no file. Raises ArchiveUnavailable."""
        if not self.database.exists:
            return None
        self.prepare()
        return self.reader

    def close(self) -> None:
        """Close its connections."""
        self.database.close()
