"""The columns of a listed session, and the session of such a row."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from ...models.sessions.archived import Documents
from ..results import ListedSession
from ..tables import COLLAB
from .rows import COLUMNS

LISTED = (
    COLLAB.c.id,
    COLLAB.c.collab_id,
    COLLAB.c.opened_ms,
    COLLAB.c.collab,
    COLLAB.c.spec,
    *(COLLAB.c[name] for name in COLUMNS),
)


def listed_session(row: Row[Any], *, actor: str | None = None) -> ListedSession:
    """Return the session of a row with the columns `LISTED`; `actor`: who cancelled it, if known."""
    values = row._mapping  # noqa: SLF001 - public in spite of the underscore
    fields = {name: None if values[name] is None else str(values[name]) for name in (*COLUMNS, "opened_ms")}
    fields["actor"] = actor
    return ListedSession(row.collab_id, row.opened_ms, Documents(row.collab, row.spec), fields)
