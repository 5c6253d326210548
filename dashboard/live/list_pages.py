"""Pages of the list of sessions while they are open: one search for all pages with the same query.

A search counts and sorts the sessions in memory (`list_searches.py` has the part of the archive), so its rate is limited.
Between two searches the rows of a page show every change at once, in the order of the last search.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from ...models.sessions.query import SessionQuery
from ..views.collab_row import CollabRow
from .fragments import Fragments
from .session_list import SessionList

#: Maximum number of queries whose last search is kept.
MAX_QUERIES = 64
#: Maximum number of rendered rows that are kept.
MAX_ROWS = 2_000
#: Part of one processor's time that searches for open pages may take.
_SHARE = 0.2
#: Minimum seconds between two searches of a query, and maximum while nothing changes.
_MIN_INTERVAL_S = 0.25
_MAX_INTERVAL_S = 10.0


@dataclass(frozen=True, slots=True)
class ListPage:
    """The result of a search: rows, and the HTML of all other fragments by id."""

    rows: Sequence[CollabRow]
    html: dict[str, str]


@dataclass(slots=True)
class _Search:
    page: ListPage
    #: Revision of the list of sessions before the search.
    revision: int
    ended_at: float
    #: Processor time, with that of other work meanwhile.
    took_s: float


class RowCache:
    """Rendered rows; a row is rendered once for all readers.

    Args:
        render: Returns the HTML of a row.
    """

    def __init__(self, render: Callable[[CollabRow], str]) -> None:
        self._render = render
        self._rows: OrderedDict[str, tuple[CollabRow, str]] = OrderedDict()

    def html(self, row: CollabRow) -> str:
        """Return the HTML of a row."""
        before = self._rows.get(row["id"])
        if before is not None and (before[0] is row or before[0] == row):
            self._rows.move_to_end(row["id"])
            return before[1]
        text = self._render(row)
        self._rows[row["id"]] = row, text
        if len(self._rows) > MAX_ROWS:
            self._rows.popitem(last=False)
        return text


class ListPages:
    """The open pages of the list.

    Args:
        sessions: The sessions in memory.
        search: Returns the page of a query.
        render_row: Returns the HTML of a row.
    """

    def __init__(
        self,
        sessions: SessionList,
        search: Callable[[SessionQuery], Awaitable[ListPage]],
        render_row: Callable[[CollabRow], str],
    ) -> None:
        self.sessions = sessions
        self._search = search
        self._cache = RowCache(render_row)
        self._searches: OrderedDict[SessionQuery, _Search] = OrderedDict()
        self._running: dict[SessionQuery, asyncio.Task[_Search]] = {}

    async def read(self, query: SessionQuery, *, is_new: bool = False) -> Fragments:
        """Return the fragments of a query; `is_new`: a page that is loaded gets all changes until now."""
        search = self._searches.get(query)
        if search is None or self.due_in_s(query) <= 0 or (is_new and self._is_outdated(search)):
            search = await self._run(query)
        rows = [self.sessions.get(row["id"]) or row for row in search.page.rows]
        order = tuple(f"row-{row['id']}" for row in rows)
        html = dict(zip(order, map(self._cache.html, rows), strict=True))
        return Fragments(search.page.html | html, {"rows": order})

    def due_in_s(self, query: SessionQuery) -> float:
        """Return the seconds until the next search of a query; 0 or less: now."""
        search = self._searches.get(query)
        if search is None:
            return 0.0
        interval_s = _MAX_INTERVAL_S
        if self._is_outdated(search):
            recent = time.monotonic() - _MAX_INTERVAL_S
            queries = sum(other.ended_at > recent for other in self._searches.values())
            interval_s = min(max(_MIN_INTERVAL_S, search.took_s * queries / _SHARE), _MAX_INTERVAL_S)
        return search.ended_at + interval_s - time.monotonic()

    def _is_outdated(self, search: _Search) -> bool:
        return search.revision != self.sessions.revision

    async def _run(self, query: SessionQuery) -> _Search:
        """Return the result of the search of a query that runs, or of one that begins now."""
        if (running := self._running.get(query)) is None:
            running = self._running[query] = asyncio.create_task(self._run_search(query))
            running.add_done_callback(lambda _: self._running.pop(query, None))
        # A page that is closed must not cancel the search of the others.
        return await asyncio.shield(running)

    async def _run_search(self, query: SessionQuery) -> _Search:
        began, revision = time.thread_time(), self.sessions.revision
        page = await self._search(query)
        took_s = time.thread_time() - began
        search = self._searches[query] = _Search(page, revision, time.monotonic(), took_s)
        self._searches.move_to_end(query)
        if len(self._searches) > MAX_QUERIES:
            self._searches.popitem(last=False)
        return search


class ListView:
    """The view of one open page of the list.

    Args:
        pages: All open pages.
        query: The query of this one.
    """

    def __init__(self, pages: ListPages, query: SessionQuery) -> None:
        self._pages = pages
        self._query = query
        self._revision = 0

    async def read(self) -> Fragments:
        """Return the fragments of this moment."""
        self._revision = self._pages.sessions.revision
        return await self._pages.read(self._query)

    async def wait(self, timeout_s: float) -> None:
        """Wait for a change of a session, or until the next search."""
        due_s = max(0.0, self._pages.due_in_s(self._query))
        _ = await self._pages.sessions.wait_for_change(self._revision, timeout_s=min(timeout_s, due_s))
