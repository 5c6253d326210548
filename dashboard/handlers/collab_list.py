"""The page of the list of sessions, and its live parts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ...models.modes import modes
from ...models.sessions.query import SessionQuery
from ..live.fragments import SentFragments
from ..live.list_pages import ListPage, ListPages, ListView
from ..live.list_searches import ListSearches
from ..views import list_parts
from ..views.collab_cells import cells_of, cost_text
from ..views.session_search import SearchPage
from .base import DashboardHandler, PageHandler, one_of_process
from .collabs import query_params
from .fragments import Templates, sent_pages

if TYPE_CHECKING:
    from ..views.collab_row import CollabRow

#: Maximum number of names that a field offers.
MAX_NAMES = 100
#: Columns of the groups by a name.
GROUP_TITLES = {"agent": "Agent", "error": "Error", "tenant": "Tenant", "tag": "Tag"}


def read_query(handler: DashboardHandler) -> tuple[SessionQuery, tuple[str, ...]]:
    """Return the query of a request, and a line for each wrong value."""
    return SessionQuery.read(query_params(handler))


def list_pages(handler: DashboardHandler) -> ListPages:
    """Return the open pages of the list of this process."""

    def make() -> ListPages:
        html = ListHtml(handler)
        return ListPages(handler.services.sessions, html.search, html.row)

    return one_of_process(handler.application, ListPages, make)


def list_view(handler: DashboardHandler) -> ListView:
    """Return the live parts of the list for the URL of a request."""
    return ListView(list_pages(handler), read_query(handler)[0])


class ListHtml:
    """The fragments of the list as HTML.

    Args:
        handler: Any handler of the application.
    """

    def __init__(self, handler: DashboardHandler) -> None:
        self._searches = ListSearches(handler.services)
        self._render = Templates(handler).render
        self._base_url = handler.base_url

    def row(self, row: CollabRow) -> str:
        """Return the HTML of a row."""
        return self._render("fragments/collab_row", row=row, cells=cells_of(row))

    async def search(self, query: SessionQuery) -> ListPage:
        """Return the rows of a query, and the parts around them."""
        links = list_parts.Links(self._base_url, query)
        page = await self._searches.page(query)
        html = {
            "tabs": self._render("fragments/collab_tabs", tabs=list_parts.tabs(query, page.counts, links)),
            "covers": self._render("fragments/collab_covers", covers=page.covers, links=links),
        }
        if query.group:
            return ListPage((), html | {"groups": await self._groups(query, links)})
        pager = list_parts.pager(query, shown=len(page.rows), total=page.total, pages=page.pages, links=links)
        html["empty"] = await self._empty(query, page, links)
        html["pager"] = self._render("fragments/collab_pager", pager=pager)
        html["select-all"] = self._render("fragments/collab_select_all", total=page.total, links=links)
        return ListPage(page.rows, html)

    async def _groups(self, query: SessionQuery, links: list_parts.Links) -> str:
        groups, _ = await self._searches.groups(query)
        return self._render(
            "fragments/collab_groups",
            title=GROUP_TITLES[query.group],
            groups=groups,
            query=query,
            links=links,
            cost_text=cost_text,
        )

    async def _empty(self, query: SessionQuery, page: SearchPage, links: list_parts.Links) -> str:
        """Return what to do if no session matches; hidden otherwise."""
        filters = [] if page.rows else [*list_parts.describe(query)]
        others = []
        for name, words, _ in filters:
            other = list_parts.without(query, name)
            total = (await self._searches.page(other.changed(per_page=1))).total
            if total and len(filters) > 1:
                others.append((words, total, list_parts.Links(self._base_url, other).to()))
        return self._render(
            "fragments/collab_empty", is_empty=not page.rows, filters=filters, others=others, links=links
        )


class CollabsPage(PageHandler):
    """The list of sessions. Its state is in its address, and it works without a script, except for live parts."""

    async def get(self) -> None:
        """Send the page."""
        query, notices = read_query(self)
        fragments = await list_pages(self).read(query, is_new=True)
        self.render_page(
            "collabs.html",
            title="Collabs",
            tab="collabs",
            script="list.js",
            query=query,
            notices=notices,
            parts=fragments.html,
            rows=[fragments.html[name] for name in fragments.lists.get("rows", ())],
            sent=sent_pages(self.application).put(SentFragments.of(fragments)),
            links=(links := list_parts.Links(self.base_url, query)),
            views=list_parts.views(query, links),
            is_all=self.query_text("select") == "all",
            sort_state=partial(list_parts.sort_state, query),
            list_parts=list_parts,
            modes=[mode.name for mode in modes()],
            names=self._names(),
        )

    def _names(self) -> dict[str, list[str]]:
        """Return the values that fields offer: those of the sessions in memory."""
        rows = [row for row in self.services.sessions.rows() if self.caller.sees(row["tenant"])]
        values = {
            "agent": {who["agent"] for row in rows for who in row["agents"] if who["agent"]},
            "tenant": {row["tenant"] for row in rows if row["tenant"]},
            "tag": {tag for row in rows for tag in row["tags"]},
        }
        return {name: sorted(found)[:MAX_NAMES] for name, found in values.items()}
