"""Reviews as JSON, their reports, and actions. The pages are in `review_pages.py`."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import chain
from typing import Any

from pydantic import JsonValue
from tornado.web import HTTPError, url

from ...reviews.reports.formats import format_of
from ...reviews.reports.html import content_policy, to_html
from ..review_runs import LoadedRun
from ..views import review_rows
from ..views.visible import make_visible
from .base import ActionHandler, DashboardHandler, DataHandler
from .downloads import DownloadHandler, zip_pieces
from .review_html import review_runs
from .review_pages import ReviewChanges, ReviewPage, ReviewsPage, ReviewStream

#: Group of a review's id in URLs.
_ID = r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
#: Links to the code host open in a tab of their own, without the limits of the report. The policy admits one script: the
#: search of the report.
_SANDBOX = "sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox"


def review_routes() -> list[Any]:
    """Return the routes of reviews."""
    return [
        url(r"/reviews", ReviewsPage, name="reviews"),
        url(rf"/reviews/{_ID}", ReviewPage, name="review"),
        url(rf"/reviews/{_ID}/report", ReportPage, name="review_report"),
        url(rf"/reviews/{_ID}/report/([A-Za-z0-9_.-]+)", ReportDownload, name="review_download"),
        url(r"/api/reviews", ReviewsData, name="api_reviews"),
        url(r"/api/reviews/stream", ReviewStream, name="api_reviews_stream"),
        url(r"/api/reviews/changes", ReviewChanges, name="api_reviews_changes"),
        url(rf"/api/reviews/{_ID}/stream", ReviewStream, name="api_review_stream"),
        url(rf"/api/reviews/{_ID}/changes", ReviewChanges, name="api_review_changes"),
        url(rf"/api/reviews/{_ID}", ReviewData, name="api_review"),
        url(rf"/api/reviews/{_ID}/findings", FindingsData, name="api_review_findings"),
        url(rf"/api/reviews/{_ID}/items", ItemsData, name="api_review_items"),
        url(rf"/api/reviews/{_ID}/(cancel|retry)", ReviewAction, name="api_review_action"),
    ]


async def _load(handler: DashboardHandler, review_id: str) -> LoadedRun:
    return (await review_runs(handler).read(review_id))[0]


class ReviewsData(DataHandler):
    """The reviews as JSON."""

    async def data(self, *_parts: str) -> object:
        """Return a page of reviews, newest first."""
        page = await self.services.client.reviews(
            limit=self.query_number("limit", 50, most=review_rows.MAX_REVIEWS),
            after=self.query_text("after") or None,
        )
        return review_rows.build_review_page(page)


class ReviewData(DataHandler):
    """One review as JSON."""

    async def data(self, *parts: str) -> object:
        """Return the review with its progress."""
        loaded, view = await review_runs(self).read(parts[0])
        return review_rows.build_review(loaded.run, view)


class FindingsData(DataHandler):
    """The findings of a review as JSON."""

    async def data(self, *parts: str) -> object:
        """Return a page of findings, the most severe first."""
        return review_rows.finding_page(
            (await _load(self, parts[0])).findings,
            severity=self.query_text("severity"),
            status=self.query_text("status"),
            limit=self.query_number("limit", 100, most=review_rows.MAX_ENTRIES),
            after=self.query_text("after"),
        )


class ItemsData(DataHandler):
    """The items of a review as JSON."""

    async def data(self, *parts: str) -> object:
        """Return a page of items."""
        return review_rows.item_page(
            (await _load(self, parts[0])).run.results,
            state=self.query_text("state"),
            limit=self.query_number("limit", 100, most=review_rows.MAX_ENTRIES),
            after=self.query_text("after"),
        )


class ReportPage(DashboardHandler):
    """The report of a review as one HTML document, which the browser treats as one of another site."""

    async def get(self, review_id: str) -> None:
        """Send the document."""
        run = (await _load(self, review_id)).run
        text = await self.services.client.run(lambda: make_visible(to_html(run)))
        self.set_header("Content-Type", "text/html; charset=UTF-8")
        self.set_header("Content-Security-Policy", f"{content_policy()}; {_SANDBOX}; frame-ancestors 'none'")
        self.write(text)


class ReportDownload(DownloadHandler):
    """The report of a review as a file."""

    async def get(self, review_id: str, name: str) -> None:
        """Send the file in the format that the URL names; a format with a file per session as one ZIP file."""
        report = format_of(name, field="format")
        run = (await _load(self, review_id)).run
        files = report.files(run, partial(self._transcript, asyncio.get_running_loop()))
        # Not in a thread of the client: it waits for calls of the client, which need those.
        first = await asyncio.to_thread(next, files, None)
        if first is None:
            raise HTTPError(404, reason="no session of this review has such a document")
        if report.render is None:
            await self.send_file(f"review.{name}.zip", "application/zip", zip_pieces(chain([first], files)))
        else:
            await self.send_file(first.name, f"{first.media_type}; charset=UTF-8", [first.text.encode()])

    def _transcript(self, loop: asyncio.AbstractEventLoop, session_id: str) -> str:
        async def read() -> str:
            return await (await self.services.client.get_job(session_id)).transcript()

        return asyncio.run_coroutine_threadsafe(read(), loop).result()


class ReviewAction(ActionHandler):
    """Cancel a review, or retry its failed items."""

    async def act(self, _body: dict[str, JsonValue], *parts: str) -> object:
        """Perform the action that the URL names."""
        review_id, verb = parts
        job = await self.services.client.get_review(review_id)
        if verb == "cancel":
            return {"cancelled": await job.cancel(f"cancelled by {self.actor}")}
        return {"retried": await job.retry()}
