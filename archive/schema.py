"""Check of a database's schema with one query, and the upgrade of an older schema.

Alembic is imported only for an upgrade, because its import would slow down the start of every reader.
"""

from __future__ import annotations

from sqlalchemy import inspect, text

from ..models.errors import ArchiveError
from .engine import Database

#: Newest revision in `migrations/versions`.
REVISION = "0004"


def upgrade_schema(database: Database) -> None:
    """Upgrade a database that has an older schema.

    Raises:
        ArchiveUnavailable: the database does not answer.
        ArchiveError: the database has a newer schema.
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
