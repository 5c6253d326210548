"""The list of sessions: page and JSON, of the sessions in memory and of those in the archive."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, TypedDict

from ...archive.results import ListedSession, SessionFilter
from ...jobs.archived import state_of
from ...models.modes import modes
from ...models.text.redact import json_text
from ..views.attention import ATTENTIONS
from ..views.collab_list import MAX_ROWS, SORT_FIELDS, STATUSES, ListFilter, ListOrder, list_page
from ..views.collab_row import CollabFacts, CollabRow, build_row
from .base import DashboardHandler, DataHandler, PageHandler

if TYPE_CHECKING:
    from ...archive.sessions.reader import ArchiveReader

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
        rows += [_row(session) for session in page.items if session.session_id not in in_memory]
        cursor = page.cursor
        if cursor is None or len(rows) >= limit:
            break
    return ArchivedPage(collabs=rows, next=cursor)


def _row(session: ListedSession) -> CollabRow:
    state = state_of(session.session_id, {**session.fields, "opened_ms": str(session.opened_ms)}, {})
    facts = CollabFacts.read_archived(session.session_id, session.documents.collab, session.documents.spec)
    return build_row(state, facts, position=f"{state.updated_ms}-0", archived=True)


def read_filter(handler: DashboardHandler) -> ListFilter:
    """Return the filter of a request: `status`, `mode` and `q`.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    return ListFilter(handler.query_text("status"), handler.query_text("mode"), handler.query_text("q"))


class CollabsPage(PageHandler):
    """The list of sessions."""

    async def get(self) -> None:
        """Send the page."""
        self.render_page(
            "collabs.html",
            title="Collabs",
            tab="collabs",
            script="collabs.js",
            statuses={**STATUSES, **ATTENTIONS},
            modes=[mode.name for mode in modes()],
            sort_fields=json_text(SORT_FIELDS),
        )


class CollabsData(DataHandler):
    """The sessions in memory as JSON."""

    async def data(self, *_parts: str) -> object:
        """Return a page of sessions."""
        sessions = self.services.sessions
        order = ListOrder(self.query_text("sort", "activity"), self.query_text("order", "desc") != "asc")
        return list_page(
            sessions.rows(),
            read_filter(self),
            order,
            position=str(sessions.cursor),
            counts=sessions.counts,
            after=self.query_text("after"),
            limit=self.query_number("limit", 100, most=MAX_ROWS),
        )


class ArchivedCollabsData(DataHandler):
    """The archived sessions as JSON."""

    async def data(self, *_parts: str) -> object:
        """Return a page of archived sessions that are not in memory; an empty one without an archive."""
        wanted, after = read_filter(self), self.query_text("after")
        limit = self.query_number("limit", 100, most=MAX_ROWS)
        client = self.services.client
        reader = await client.archived()
        if reader is None:
            return ArchivedPage(collabs=[], next=None)
        in_memory = self.services.sessions
        return await client.run(archived_page, reader, wanted, in_memory, after=after, limit=limit)
