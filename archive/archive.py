"""The archive: one database, with the reader, writer and pruner of sessions. Features store rows in it, too.

Its schema is checked with one query and upgraded where it is older. Alembic is imported only for an upgrade,
because its import would slow down the start of every reader. A part is imported when it is first used: a program that
lists sessions does not need the writer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from ..models.errors import ArchiveError
from .engine import Database

if TYPE_CHECKING:
    from ..models.sessions.archived import ArchivePage
    from .pruner import ArchivePruner
    from .sessions.reader import ArchiveReader
    from .sessions.writer import ArchiveWriter

#: Newest revision in `migrations/versions`, and the oldest one from which an archive can be upgraded.
REVISION = "0011"
OLDEST_REVISION = "0011"
#: Table of what the schema has besides its revision: see `additions.py`.
AGENT_TABLE = "session_agent"
#: Key of the advisory lock: "sympos" in ASCII, so that no other program is likely to use it.
LOCK = 0x73796D706F73


def upgrade_schema(database: Database) -> None:
    """Upgrade a database that has an older schema.

    Raises:
        ArchiveUnavailable: The database does not answer.
        ArchiveError: The database has a newer schema, or one that is too old.
    """
    revision, is_complete = None, False
    if database.exists:
        with database.reading() as connection:
            revision = revision_of(connection)
            is_complete = revision == REVISION and inspect(connection).has_table(AGENT_TABLE)
    if is_complete:
        return
    if revision is not None and revision > REVISION:
        line = "run the newer Symposia, or downgrade the schema with it"
        raise ArchiveError(f"the archive has a newer schema ({revision}, supported: {REVISION}): {line}")
    if revision is not None and revision < OLDEST_REVISION:
        line = "upgrade it with Symposia 0.1.0 first"
        raise ArchiveError(
            f"the archive has an older schema ({revision}, supported: {OLDEST_REVISION}): {line}"
        )
    migrate(database)


def revision_of(connection: Connection) -> str | None:
    """Return the revision of a database; None: the database is empty."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return revision


def migrate(database: Database, revision: str = "head") -> None:
    """Upgrade to the newest revision, or downgrade to an earlier one (such as `base`), completely or not at all.

    Safe with concurrent migrations. No other process may use the database during a downgrade, because it may assume
    that the schema is prepared.

    Raises:
        ArchiveUnavailable: The database does not answer.
    """
    from alembic import command
    from alembic.config import Config

    from .additions import drop_additions, make_additions

    with database.writing() as connection:
        if not database.is_sqlite:  # on SQLite, `writing` locks the whole file
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        config = Config()
        config.set_main_option("script_location", "symposia.archive:migrations")
        config.attributes["connection"] = connection
        if revision == "head":
            command.upgrade(config, revision)
            make_additions(connection)
        else:
            drop_additions(connection)
            command.downgrade(config, revision)


class Archive:
    """Sessions in the database at `url`. The constructor does not connect.

    Args:
        url: As in `Database`.
        deliver: Returns the function that writes the messages of a page into a conversation, in the transaction that
            archives the page; called when the first session is written.
        owns_folder: As in `Database`.
    """

    def __init__(
        self,
        url: str,
        deliver: Callable[[], Callable[[Connection, ArchivePage], None]],
        *,
        owns_folder: bool = False,
    ) -> None:
        self.database = Database(url, owns_folder=owns_folder)
        self._deliver = deliver
        self._is_ready = False
        self._lock = threading.Lock()

    @cached_property
    def writer(self) -> ArchiveWriter:
        """The writer of sessions."""
        from .sessions.writer import ArchiveWriter

        return ArchiveWriter(self.database, self._deliver())

    @cached_property
    def reader(self) -> ArchiveReader:
        """The reader of sessions."""
        from .sessions.reader import ArchiveReader

        return ArchiveReader(self.database)

    @cached_property
    def pruner(self) -> ArchivePruner:
        """The pruner of sessions."""
        from .pruner import ArchivePruner

        return ArchivePruner(self.database)

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
