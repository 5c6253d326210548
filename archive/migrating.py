"""Brings the database of an archive to a revision, whoever else tries the same at the same time."""

from __future__ import annotations

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from .conversations import tables as _conversations  # noqa: F401 - their tables join the others in METADATA
from .engine import Database
from .tables import METADATA

NEWEST = "head"
#: Any number that no other program takes for its advisory locks: "sympos" in ASCII.
LOCK = 0x73796D706F73


def migrate(database: Database, revision: str = NEWEST) -> None:
    """Upgrades to `revision`, or downgrades to it (also `base` and `-1`), all of it or nothing.

    Nobody else may look at a database that is downgraded: who does may take it for prepared.

    Raises:
        ArchiveUnavailable: it does not answer.
    """
    with database.writing() as connection:
        if not database.is_sqlite:  # where `writing` locks the whole file
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        config = _config()
        config.attributes |= {"connection": connection, "metadata": METADATA}
        goes_down = revision == "base" or revision.startswith("-") or revision in _behind(config, connection)
        (command.downgrade if goes_down else command.upgrade)(config, revision)


def revision_of(connection: Connection) -> str | None:
    """The revision a database has; None: it is empty."""
    return MigrationContext.configure(connection).get_current_revision()


def newest_revision() -> str:
    """The revision that this version of the program writes."""
    return ScriptDirectory.from_config(_config()).get_current_head() or ""


def _behind(config: Config, connection: Connection) -> set[str]:
    """The revisions that a database has been through: Alembic goes to none of them as an upgrade, and says nothing."""
    walk = ScriptDirectory.from_config(config).iterate_revisions(revision_of(connection), "base")
    return {it.revision for it in walk}


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "symposia.archive:migrations")
    return config
