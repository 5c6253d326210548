"""Searches of open pages of the list: rows in memory are kept up to date, and the archive is read now and then.

Sessions in memory change many times a second, archived ones hardly ever. So the part of the archive is read once for all
pages with a query, and again when it is old; a change costs O(changed rows). A session that leaves the memory, because it
has expired, stays among the rows until the archive is read again.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from ...models.errors import ArchiveError
from ...models.sessions.grouping import SessionGroup
from ...models.sessions.query import SessionQuery
from ..views.matching_rows import MatchingRows
from ..views.session_search import (
    ArchivedPart,
    Covers,
    SearchPage,
    SearchServices,
    show_covers,
    show_groups,
    show_page,
)
from .list_pages import MAX_QUERIES
from .session_list import SessionList

#: Seconds after which the archive is read again: while it answers, and while it does not.
READ_EVERY_S, RETRY_S = 10.0, 2.0
#: Part of the time in which the archive is read for open pages: with many queries, each is read less often.
_SHARE = 0.1
#: Maximum seconds between two reads, and seconds after which an unused search is forgotten.
MAX_AGE_S = 60.0


class ListServices(SearchServices, Protocol):
    """The part of the dashboard's services that open lists use."""

    @property
    def sessions(self) -> SessionList:
        """The sessions in memory, with their changes."""


@dataclass(slots=True)
class _Search:
    matching: MatchingRows
    part: ArchivedPart
    is_partial: bool
    #: Revision of the list of sessions whose changes `matching` has.
    revision: int
    read_at: float
    took_s: float
    used_at: float


class ListSearches:
    """The searches of all open pages. Only for one event loop.

    Args:
        services: The services of the dashboard.
    """

    def __init__(self, services: ListServices) -> None:
        self._services = services
        self._searches: OrderedDict[SessionQuery, _Search] = OrderedDict()
        self._reading: dict[SessionQuery, asyncio.Task[_Search]] = {}
        #: One reading at a time for pages that have an older part.
        self._turn = asyncio.Lock()

    async def page(self, query: SessionQuery) -> SearchPage:
        """Return a page of the sessions that match, live and archived.

        If the archive does not answer, the page has the sessions in memory, and `covers` says so.
        """
        while True:
            search, now_ms = await self._search(query), self._services.hub.now_ms()
            matching, part = search.matching, search.part
            if not (missing := part.missing(matching, now_ms)):
                return show_page(matching, part, now_ms=now_ms, is_partial=search.is_partial)
            try:
                await self._services.client.run(part.load, missing)
            except ArchiveError:
                search.part, search.is_partial = ArchivedPart(), True

    async def groups(self, query: SessionQuery) -> tuple[list[SessionGroup], Covers]:
        """Return the groups of the sessions that match, by `query.group`, and what they cover."""
        search = await self._search(query)
        covers = show_covers(search.matching, search.part, is_partial=search.is_partial)
        return show_groups(search.matching, search.part), covers

    async def _search(self, query: SessionQuery) -> _Search:
        """Return the search of a query, with all changes until now."""
        now = time.monotonic()
        for other in [name for name, search in self._searches.items() if now - search.used_at > MAX_AGE_S]:
            del self._searches[other]
        search = self._searches.get(query)
        if search is None:
            search = await asyncio.shield(self._read(query))
        elif now > search.read_at + self._interval_s(search):
            reading = self._read(query)
            # Changes in memory are not delayed by it.
            if search.revision == self._services.sessions.revision:
                search = await asyncio.shield(reading)
        self._update(search)
        if not search.part.has_page(search.matching):
            search = await asyncio.shield(self._read(query))
            self._update(search)
        search.used_at = time.monotonic()
        if query in self._searches:
            self._searches.move_to_end(query)
        return search

    def _interval_s(self, search: _Search) -> float:
        """Return the seconds between two reads of the archive."""
        if search.is_partial:
            return RETRY_S
        recent = time.monotonic() - 2 * READ_EVERY_S  # an open page uses its search that often
        queries = sum(other.used_at > recent for other in self._searches.values())
        return min(max(READ_EVERY_S, search.took_s * queries / _SHARE), MAX_AGE_S)

    def _update(self, search: _Search) -> None:
        sessions = self._services.sessions
        if search.revision != sessions.revision:
            search.matching.take(listed.row for listed in sessions.changed_after(search.revision))
            if not search.part.is_archive:
                search.matching.remove(sessions.removed_after(search.revision))
            search.revision = sessions.revision

    def _read(self, query: SessionQuery) -> asyncio.Task[_Search]:
        """Return the reading of the archive for a query that runs, or that begins now.

        Pages share it, so one that is closed must not cancel it.
        """
        if (task := self._reading.get(query)) is None:
            task = self._reading[query] = asyncio.create_task(self._run(query))
            task.add_done_callback(partial(self._end_reading, query))
        return task

    def _end_reading(self, query: SessionQuery, task: asyncio.Task[_Search]) -> None:
        del self._reading[query]
        if not task.cancelled():
            task.exception()  # a page that waits for the reading raises it

    async def _run(self, query: SessionQuery) -> _Search:
        async with self._turn if query in self._searches else nullcontext():
            sessions, began = self._services.sessions, time.monotonic()
            rows, revision, is_partial = sessions.rows(), sessions.revision, False
            matching = MatchingRows(query, rows, now_ms=self._services.hub.now_ms())
            try:
                reader = await self._services.client.archived()
                ids = {row["id"] for row in rows}
                part = await self._services.client.run(ArchivedPart.read, reader, matching, ids)
            except ArchiveError:
                part, is_partial = ArchivedPart(), True
            now = time.monotonic()
            search = _Search(matching, part, is_partial, revision, now, now - began, now)
            self._searches[query] = search
            self._searches.move_to_end(query)
            if len(self._searches) > MAX_QUERIES:
                self._searches.popitem(last=False)
            return search
