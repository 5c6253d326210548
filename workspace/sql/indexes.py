"""Index for the count of a reader's own messages after its position.

The migrations create it. Its condition imports the dialects, so programs that read do not import this module; a test
compares it with the database.
"""

from __future__ import annotations

from sqlalchemy import Index, text

from ...archive.tables import MESSAGE

Index(
    None,
    *(MESSAGE.c.conversation, MESSAGE.c.speaker, MESSAGE.c.seq),
    sqlite_where=text("conversation IS NOT NULL"),
    postgresql_where=text("conversation IS NOT NULL"),
)
