"""The pages of reviews, the list and one run, as fragments: what of them changes while they are open."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from datetime import datetime
from typing import Any, TypeVar

from ...archive.results import ResultPage
from ...models.text.ids import ms_from_moment
from ...models.text.words import count_of
from ...reviews.reports.report_model import (
    STATUSES,
    excerpt_lines,
    line_link_of,
    lines_of,
    replacement_diff,
    verification_text,
)
from ...reviews.state.records import BatchView
from ...reviews.values.runs import ListedReview
from ..live.fragments import Fragments
from ..review_runs import LoadedRun, ReviewRuns
from ..views import review_page
from ..views.collab_cells import cost_text, time_html
from ..views.list_parts import Link
from ..views.review_queries import STATES, FindingQuery, RunQuery, UrlQuery
from ..views.review_rows import build_review
from ..views.texts import duration
from .base import DashboardHandler, one_of_process
from .fragments import Templates

K = TypeVar("K")
V = TypeVar("V")

#: Runs per page of the list.
PER_PAGE = 100
#: Seconds until the list is read again.
_FRESH_S = 2.0
#: Maximum number of addresses whose fragments are kept, and of pages of the list.
MAX_ADDRESSES = 32
#: State of a review or an item -> class of its badge; others have none.
_BADGES = {"running": "active", "opening": "active", "partial": "retry", "unreadable": "failed"}


def _badge(state: str) -> str:
    return _BADGES.get(state, state)


def _put(cache: OrderedDict[K, V], key: K, value: V) -> None:
    """Add the newest entry of a cache, and remove the oldest one if there are too many."""
    cache[key] = value
    cache.move_to_end(key)
    if len(cache) > MAX_ADDRESSES:
        cache.popitem(last=False)


def _started_ms(review: ListedReview) -> int:
    return ms_from_moment(datetime.fromisoformat(review.started))


def review_runs(handler: DashboardHandler) -> ReviewRuns:
    """Return the runs in memory of this process."""
    return one_of_process(handler.application, ReviewRuns, lambda: ReviewRuns(handler.services.client))


class ReviewHtml:
    """Renders the fragments of both pages, once for all pages with the same address.

    Args:
        handler: Any handler of the application.
    """

    def __init__(self, handler: DashboardHandler) -> None:
        self._client = handler.services.client
        self._runs = review_runs(handler)
        names = {"count_of": count_of, "cost_text": cost_text, "time_html": time_html, "badge": _badge}
        self._render = Templates(handler, **names).render
        self._path = f"{handler.base_url}/reviews"
        self._allows_actions = handler.has_actions
        #: Cursor -> page of the list, and the time of its reading.
        self._pages: OrderedDict[str, tuple[float, ResultPage[ListedReview]]] = OrderedDict()
        self._lock = asyncio.Lock()
        #: Id of a review (empty: the list) and query -> what the fragments were made from, and the fragments.
        self._rendered: OrderedDict[tuple[str, UrlQuery], tuple[object, Fragments]] = OrderedDict()

    async def _list(self, cursor: str) -> ResultPage[ListedReview]:
        """Return a page of the list, at most some seconds old."""
        async with self._lock:
            if cursor not in self._pages or time.monotonic() - self._pages[cursor][0] > _FRESH_S:
                page = await self._client.reviews(limit=PER_PAGE, after=cursor or None)
                _put(self._pages, cursor, (time.monotonic(), page))
            return self._pages[cursor][1]

    async def names(self, query: RunQuery) -> dict[str, list[str]]:
        """Return the roots and panels of a page of the list."""
        reviews = (await self._list(query.cursor)).items
        names = {"root": {it.root_name for it in reviews}, "panel": {it.panel for it in reviews}}
        return {name: sorted(values - {""}) for name, values in names.items()}

    async def read_list(self, query: RunQuery) -> Fragments:
        """Return the fragments of the list."""
        page = await self._list(query.cursor)
        before = self._rendered.get(("", query))
        fragments = before[1] if before and before[0] == page else self._list_fragments(page, query)
        _put(self._rendered, ("", query), (page, fragments))
        return fragments

    def _list_fragments(self, page: ResultPage[ListedReview], query: RunQuery) -> Fragments:
        counts = Counter(review.state for review in page.items if query.fits(review))
        shown = [state for state in STATES if counts[state] or state in query.state]
        tabs = [Link(query.address(self._path, state=()), "all", counts.total(), "", not query.state)]
        tabs += [
            Link(
                query.address(self._path, state=(state,)),
                state,
                counts[state],
                "bad" if state in ("failed", "unreadable") else "",
                state in query.state,
            )
            for state in shown
        ]
        reviews = query.select(page.items)
        html = {
            f"run-{review.id}": self._render("reviews/run", review=review, started_ms=_started_ms(review))
            for review in reviews
        }
        parts = {
            "tabs": self._render("fragments/collab_tabs", tabs=tabs),
            "pager": self._render(
                "reviews/list_pager", query=query, page=page, shown=len(reviews), path=self._path
            ),
        }
        return Fragments(html | parts, {"rows": tuple(html)})

    async def read_run(
        self, review_id: str, query: FindingQuery
    ) -> tuple[Fragments, LoadedRun, BatchView | None]:
        """Return the fragments of a run, the run, and its progress; None: only the archive has the run.

        Raises:
            ReviewNotFound: There is no such review.
            ArchiveUnavailable: The archive does not answer.
        """
        loaded, view = await self._runs.read(review_id)
        made_from = loaded.read_at, view
        before = self._rendered.get((review_id, query))
        if before is not None and before[0] == made_from:
            fragments = before[1]
        else:
            fragments = await self._client.run(self._fragments, loaded, view, query)
        _put(self._rendered, (review_id, query), (made_from, fragments))
        return fragments, loaded, view

    def _fragments(self, loaded: LoadedRun, view: BatchView | None, query: FindingQuery) -> Fragments:
        run, path = loaded.run, f"{self._path}/{loaded.run.id}"
        review = build_review(run, view)
        has_ended = review["ended_ms"] is not None
        groups, total = review_page.group_findings(run, query)
        values: dict[str, Any] = {"run": run, "review": review, "path": path, "query": query}
        values |= {"has_ended": has_ended, "view": view, "duration": duration, "MAX": review_page.MAX_LISTED}
        values["here"] = query.address(path, page=query.page)
        notice = review_page.run_notice(review, view, round(time.time() * 1000))
        before = loaded.before if has_ended else None
        sessions = {result.item.path: result.session_id for result in run.results}
        html = {
            group.element: self._render(
                "reviews/group",
                group=group,
                sessions=sessions,
                STATUSES=STATUSES,
                excerpt_lines=excerpt_lines,
                line_link_of=line_link_of,
                lines_of=lines_of,
                replacement_diff=replacement_diff,
                session_search=review_page.session_search,
                verification_text=verification_text,
                **values,
            )
            for group in groups
        }
        lists = {"groups": tuple(html)}
        html["summary"] = self._render("reviews/summary", notice=notice, **values)
        html["numbers"] = self._render(
            "reviews/numbers", tiles=review_page.tiles(review, before, query, path)
        )
        html["trend"] = self._render("reviews/trend", bars=review_page.trend_bars(loaded.trend), **values)
        html["pager"] = self._render(
            "reviews/pager", total=total, page_size=review_page.MAX_FINDINGS, **values
        )
        html["failures"] = self._render("reviews/failures", failures=review_page.failures(run), **values)
        html["others"] = self._render("reviews/others", clean=review_page.clean_items(run), **values)
        return Fragments(html, lists)


def review_html(handler: DashboardHandler) -> ReviewHtml:
    """Return the renderer of this process."""
    return one_of_process(handler.application, ReviewHtml, lambda: ReviewHtml(handler))
