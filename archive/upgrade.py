"""Migration of a database to a revision, safe with concurrent migrations."""

from __future__ import annotations

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from .engine import Database
from .tables import METADATA

NEWEST = "head"
#: Key of the advisory lock: "sympos" in ASCII, so that no other program is likely to use it.
LOCK = 0x73796D706F73


def migrate(database: Database, revision: str = NEWEST) -> None:
    """Upgrade or downgrade to `revision` (also `base` and `-1`), completely or not at all.

    No other process may use the database during a downgrade, because it may assume that the schema is
    prepared.

    Raises:
        ArchiveUnavailable: The database does not answer.
    """
    with database.writing() as connection:
        if not database.is_sqlite:  # on SQLite, `writing` locks the whole file
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        config = _config()
        config.attributes |= {"connection": connection, "metadata": METADATA}
        goes_down = revision == "base" or revision.startswith("-") or revision in _behind(config, connection)
        (command.downgrade if goes_down else command.upgrade)(config, revision)


def revision_of(connection: Connection) -> str | None:
    """Return the revision of a database; None: the database is empty."""
    return MigrationContext.configure(connection).get_current_revision()


def newest_revision() -> str:
    """Return the newest revision that this version of Symposia supports."""
    return ScriptDirectory.from_config(_config()).get_current_head() or ""


def _behind(config: Config, connection: Connection) -> set[str]:
    """Return the earlier revisions of a database.

    Alembic silently ignores an upgrade to one of them.
    """
    walk = ScriptDirectory.from_config(config).iterate_revisions(revision_of(connection), "base")
    return {it.revision for it in walk}


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "symposia.archive:migrations")
    return config
