"""The list of sessions as JSON, of the sessions in memory and of those in the archive."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, TypedDict

from tornado.web import RequestHandler

from ...archive.results import SessionFilter
from ...models.sessions.query import SessionQuery
from ..views.collab_list import MAX_ROWS, list_page
from ..views.collab_row import CollabRow
from ..views.session_search import archived_row, group_sessions, search_sessions
from .base import DashboardHandler, DataHandler

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
    reader: ArchiveReader, query: SessionQuery, in_memory: Container[str], *, after: str = "", limit: int
) -> ArchivedPage:
    """Return a page of archived sessions, without those in memory.

    Args:
        reader: The archive.
        query: The filters.
        in_memory: Ids of sessions that are in the list of live ones.
        after: Cursor of the page before; empty: the first page.
        limit: Number of rows; the page has up to twice as many, so that no row is read twice.

    Raises:
        ArchiveUnavailable: The archive does not answer.
        InvalidInput: The cursor is not valid.
    """
    if query.attention:
        return ArchivedPage(collabs=[], next=None)
    chosen = SessionFilter(query=query)
    rows: list[CollabRow] = []
    cursor: str | None = after or None
    for _ in range(_MAX_READS):
        page = reader.page(chosen, after=cursor, limit=limit)
        rows += [archived_row(session) for session in page.items if session.session_id not in in_memory]
        cursor = page.cursor
        if cursor is None or len(rows) >= limit:
            break
    return ArchivedPage(collabs=rows, next=cursor)


def read_query(handler: DashboardHandler) -> SessionQuery:
    """Return the query of a request.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    return SessionQuery.read_strictly(query_params(handler))


def query_params(handler: DashboardHandler) -> dict[str, list[str]]:
    """Return the parameters of a request. Flower's `get_argument` escapes them for HTML."""
    names = handler.request.query_arguments
    return {name: RequestHandler.get_query_arguments(handler, name) for name in names}


class CollabsData(DataHandler):
    """The sessions in memory as JSON."""

    async def data(self, *_parts: str) -> object:
        """Return a page of sessions."""
        services = self.services
        query = read_query(self)
        # Earlier versions have `order`, and sort in descending order without it.
        sign = "" if self.query_text("order") == "asc" else "-"
        return list_page(
            services.sessions.rows(),
            replace(query, sort=sign + query.sort_key),
            now_ms=services.hub.now_ms(),
            position=str(services.sessions.cursor),
            counts=services.sessions.counts,
            after=self.query_text("after"),
            limit=self.query_number("limit", 100, most=MAX_ROWS),
        )


class SearchData(DataHandler):
    """Sessions in memory and in the archive together, as JSON."""

    async def data(self, *_parts: str) -> object:
        """Return a page of sessions, or with `group` their groups."""
        query, notices = SessionQuery.read(query_params(self))
        if query.group:
            groups, covers = await group_sessions(self.services, query)
            return {"groups": [*map(asdict, groups)], "covers": covers.to_json(), "notices": notices}
        page = await search_sessions(self.services, query)
        return {
            "collabs": page.rows,
            "counts": page.counts,
            "covers": page.covers.to_json(),
            "total": page.total,
            "page": page.page,
            "pages": page.pages,
            "notices": notices,
        }


class ArchivedCollabsData(DataHandler):
    """The archived sessions as JSON."""

    async def data(self, *_parts: str) -> object:
        """Return a page of archived sessions that are not in memory; an empty one without an archive."""
        query, after = read_query(self), self.query_text("after")
        limit = self.query_number("limit", 100, most=MAX_ROWS)
        client = self.services.client
        reader = await client.archived()
        if reader is None:
            return ArchivedPage(collabs=[], next=None)
        in_memory = self.services.sessions
        return await client.run(archived_page, reader, query, in_memory, after=after, limit=limit)
