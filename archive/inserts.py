"""Insertions with `ON CONFLICT`, which each dialect has in a class of its own.

Only the dialect in use is imported: a program on SQLite does not need that of PostgreSQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.dialects import postgresql, sqlite


def insert_into(table: Table, dialect: str) -> sqlite.Insert | postgresql.Insert:
    """Return an insertion into a table.

    Args:
        table: The table.
        dialect: `sqlite` or `postgresql`.
    """
    if dialect == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as sqlite_insert

        return sqlite_insert(table)
    from sqlalchemy.dialects.postgresql import insert

    return insert(table)
