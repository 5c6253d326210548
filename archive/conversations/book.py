"""The book of tasks: opens its transactions, in which changes are made and pages are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import text

from .changes import Changes
from .listing import Pages

if TYPE_CHECKING:
    from ..engine import Database


class TaskBook:
    """Tasks and conversations in a database. Raises ArchiveUnavailable from every method."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def changing(self) -> Iterator[Changes]:
        """A transaction that writes: all of it, or nothing."""
        with self._database.writing() as connection:
            yield Changes(connection)

    @contextmanager
    def reading(self) -> Iterator[Pages]:
        """A transaction that reads, and sees one instant."""
        with self._database.reading() as connection:
            if not self._database.is_sqlite:  # whose transactions see one instant by themselves
                connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
            yield Pages(connection)
