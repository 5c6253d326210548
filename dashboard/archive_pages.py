"""Pages of archived sessions that are not in memory. Blocking: it reads the archive."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, TypedDict

from ..archive.results import ListedSession, SessionFilter
from ..jobs.archived import state_of
from .views.collab_list import ATTENTIONS, ListFilter
from .views.collab_row import CollabFacts, CollabRow, build_row

if TYPE_CHECKING:
    from ..archive.sessions.reader import ArchiveReader

#: Maximum number of pages of the archive for one page: the newest sessions of the archive are in memory, too.
_MAX_READS = 20


class ArchivedPage(TypedDict):
    """A page of archived sessions, newest first."""

    collabs: list[CollabRow]
    #: Cursor of the next page; None: this is the last one.
    next: str | None


def archived_page(
    reader: ArchiveReader, wanted: ListFilter, in_memory: Container[str], *, after: str = "", limit: int
) -> ArchivedPage:
    """Return a page of archived sessions, without those in memory.

    Args:
        reader: The archive.
        wanted: The filter.
        in_memory: Ids of sessions that are in the list of live ones.
        after: Cursor of the page before; empty: the first page.
        limit: Number of rows; the page has up to twice as many, so that no row is read twice.

    Raises:
        ArchiveUnavailable: The archive does not answer.
        InvalidInput: The cursor is not valid.
    """
    if wanted.status in ATTENTIONS:
        return ArchivedPage(collabs=[], next=None)
    chosen = SessionFilter(wanted.status or None, wanted.mode or None, text=wanted.text or None)
    rows: list[CollabRow] = []
    cursor: str | None = after or None
    for _ in range(_MAX_READS):
        page = reader.page(chosen, after=cursor, limit=limit)
        rows += [_row(it) for it in page.items if it.session_id not in in_memory]
        cursor = page.cursor
        if cursor is None or len(rows) >= limit:
            break
    return ArchivedPage(collabs=rows, next=cursor)


def _row(session: ListedSession) -> CollabRow:
    state = state_of(session.session_id, {**session.fields, "opened_ms": str(session.opened_ms)}, {})
    facts = CollabFacts.read_archived(session.session_id, session.documents.collab, session.documents.spec)
    return build_row(state, facts, position=f"{state.updated_ms}-0", archived=True)
