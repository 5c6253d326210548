"""The list of sessions: page and JSON."""

from __future__ import annotations

from ...models.modes import modes
from ...models.text.redact import json_text
from ..archive_pages import ArchivedPage, archived_page
from ..views.collab_list import ATTENTIONS, MAX_ROWS, SORT_FIELDS, STATUSES, ListFilter, ListOrder, list_page
from .base import DashboardHandler, DataHandler, PageHandler


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
            statuses=STATUSES | ATTENTIONS,
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
