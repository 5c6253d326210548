"""The newest schema: whether a database has it, told by one look, and brought there if it has not.

Alembic is loaded only to change something: every process that looks at the archive would pay for it as it starts.
"""

from __future__ import annotations

from sqlalchemy import inspect, text

from ..models.errors import ArchiveError
from .engine import Database

#: The newest of `migrations/versions`.
REVISION = "0004"


def bring_to_newest(database: Database) -> None:
    """Migrates a database that has an older schema.

    Raises:
        ArchiveUnavailable: it does not answer.
        ArchiveError: it has a newer one.
    """
    revision = _revision(database) if database.is_there else None
    if revision == REVISION:
        return
    if revision is not None and revision > REVISION:
        line = "run that version, or take the schema back with it"
        raise ArchiveError(f"the archive is of a newer version (schema {revision}, not {REVISION}): {line}")
    from .migrating import migrate

    migrate(database)


def _revision(database: Database) -> str | None:
    with database.reading() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        revision: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        return revision
