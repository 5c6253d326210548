"""The pages of reviews, the list and one run, and their live parts. They work without a script, except for live parts."""

from __future__ import annotations

from ...reviews.reports.formats import formats
from ...reviews.reports.report_model import STATUSES
from ..live.fragments import Fragments, SentFragments
from ..views.collab_cells import time_html
from ..views.review_queries import SEVERITIES, FindingQuery, RunQuery
from ..views.review_rows import build_review
from .base import DashboardHandler, DataHandler, PageHandler
from .collabs import query_params
from .fragments import PolledView, poll_fragments, send_fragments, sent_pages
from .live import OPENING, StreamHandler
from .review_html import review_html


def _view(handler: DashboardHandler, *parts: str) -> PolledView:
    """Return the live parts of the page of a run, or of the list."""
    html, params = review_html(handler), query_params(handler)

    async def read_run() -> Fragments:
        return (await html.read_run(parts[0], FindingQuery.read(params)[0]))[0]

    async def read_list() -> Fragments:
        return await html.read_list(RunQuery.read(params)[0])

    return PolledView(read_run if parts else read_list)


class ReviewStream(StreamHandler):
    """The fragments of the list, or of a run, that change: events `fragments`."""

    async def send_events(self, *parts: str) -> None:
        """Send the fragments that differ from those of the page, then each change."""
        view = _view(self, *parts)
        _ = await view.read()  # an unknown review is not found
        await self.send(OPENING)
        await send_fragments(self, view, self.send)


class ReviewChanges(DataHandler):
    """The same fragments for a page that polls."""

    async def data(self, *parts: str) -> object:
        """Return the fragments that differ from those of the page."""
        return await poll_fragments(self, _view(self, *parts))


class ReviewsPage(PageHandler):
    """The list of reviews."""

    async def get(self) -> None:
        """Send the page."""
        query, notices = RunQuery.read(query_params(self))
        fragments = await review_html(self).read_list(query)
        self.render_page(
            "reviews.html",
            title="Reviews",
            tab="reviews",
            script="forms.js",
            query=query,
            notices=notices,
            html=fragments.html,
            rows=fragments.lists["rows"],
            names=await review_html(self).names(query),
            path=f"{self.base_url}/reviews",
            sent=sent_pages(self.application).put(SentFragments.of(fragments)),
        )


class ReviewPage(PageHandler):
    """One review."""

    async def get(self, review_id: str) -> None:
        """Send the page."""
        query, notices = FindingQuery.read(query_params(self))
        fragments, loaded, view = await review_html(self).read_run(review_id, query)
        review = build_review(loaded.run, view)
        self.render_page(
            "review.html",
            title=f"Review of {loaded.run.root_name} by {loaded.run.panel}",
            tab="reviews",
            script="forms.js",
            query=query,
            notices=notices,
            review=review,
            html=fragments.html,
            groups=fragments.lists["groups"],
            severities=SEVERITIES,
            statuses=STATUSES,
            formats=[form.name for form in formats()],
            path=f"{self.base_url}/reviews/{review_id}",
            is_live=view is not None,
            sent=sent_pages(self.application).put(SentFragments.of(fragments)),
            time_html=time_html,
            **(self.health_values(ended_ms=review["ended_ms"]) if view is None else {}),
        )
