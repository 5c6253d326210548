"""The page of one session, and the JSON that it shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tornado.web import HTTPError, url

from ...client.aio.jobs import blocking_job
from ...jobs.attachments import find_attachment
from ...jobs.collab import CollabJob
from ...models.attachments import UNKNOWN_TYPE, Attachment
from ...models.errors import SessionNotFound
from ...models.text.redact import json_text
from ..live.fragments import SentFragments
from ..live.health_feed import render_session_notice
from ..live.load_limits import SharedReads
from ..views.attention import condition_json
from ..views.sentences import session_notice
from ..views.session.export import open_export
from ..views.session.pages import read_events, read_message
from ..views.session.reading import read_session
from ..views.session.snapshot import session_json
from ..views.session.transcript import events_json
from ..views.visible import make_visible
from .base import DashboardHandler, DataHandler, PageHandler
from .downloads import CHUNK_BYTES, DownloadHandler
from .fragments import sent_pages
from .session_actions import ACTIONS, SessionAction
from .session_html import MAX_PEOPLE
from .session_stream import (
    SessionChanges,
    SessionStream,
    open_session_view,
    open_sessions,
    session_html,
)

#: Group of a session's id in URLs, also shortened.
_ID = r"([0-9a-f][0-9a-f-]{7,35})"
_READS = "symposia_session_reads"
#: Characters of a whole id.
WHOLE_ID = 36
#: Number of events that a page shows.
EVENTS = 100


def session_routes() -> list[Any]:
    """Return the routes of one session."""
    page, api = f"/collabs/{_ID}", f"/api/collabs/{_ID}"
    return [
        url(page, SessionPage, name="collab"),
        url(f"{page}/messages/([0-9-]+)", WholeMessage),
        url(api, SessionData),
        url(f"{api}/attachments/([0-9a-f]{{64}})", AttachmentDownload),
        url(f"{api}/export/([a-z-]+)", SessionExport),
        url(f"{api}/changes", SessionChanges),
        url(f"{api}/stream", SessionStream),
        url(f"{api}/({'|'.join(ACTIONS)})", SessionAction),
    ]


class SessionPage(PageHandler):
    """The page of one session. Its address says which turns, and whether the events, it shows."""

    async def get(self, session_id: str) -> None:
        """Send the page; redirect from a shortened id to the whole one."""
        if len(session_id) < WHOLE_ID or session_id != session_id.lower():
            job = await self.services.client.get_job(session_id)
            self.redirect(f"{self.base_url}/collabs/{job.id}")
            return
        view = open_session_view(self, session_id)
        fragments = await view.read()
        row, params = view.row, view.params
        notice = session_notice(row, self.services.hub.condition(session_id), self.health.now_ms())
        events = None
        if params.events:
            before = None if params.events == "newest" else params.events
            events = await self.services.client.run(
                lambda: events_json(read_events(view.opened.job, before=before, count=EVENTS))
            )
        self.render_page(
            "session.html",
            title=make_visible(row["title"]),
            tab="collabs",
            script="session.js",
            session_id=session_id,
            session_notice=render_session_notice(notice),
            html=fragments.html,
            lists=fragments.lists,
            params=params,
            is_followed=row["ended_ms"] is None,
            sent=sent_pages(self.application).put(SentFragments.of(fragments)),
            events=session_html(self).render("events", page=events),
            MAX_PEOPLE=MAX_PEOPLE,
            **self.health_values(ended_ms=row["ended_ms"]),
        )


class WholeMessage(DashboardHandler):
    """One whole message as plain text."""

    async def get(self, session_id: str, entry_id: str) -> None:
        """Send the text."""
        job = blocking_job(await self.services.client.get_job(session_id))
        message = await self.services.client.run(read_message, job, entry_id)
        if message is None:
            raise SessionNotFound(session_id)
        self.set_header("Content-Type", "text/plain; charset=UTF-8")
        self.write(make_visible(message.content))


class SessionData(DataHandler):
    """The state of a session. Requests of the same time share one read, and its JSON."""

    async def get(self, *parts: str) -> None:
        """Send the state."""
        (session_id,) = parts
        reads: SharedReads = self.application.settings.setdefault(_READS, SharedReads())
        self.send_json_text(await reads.read(session_id, lambda: self._read(session_id)))

    async def _read(self, session_id: str) -> str:
        job = blocking_job(await self.services.client.get_job(session_id))
        usage, condition = open_sessions(self).usage, self.services.hub.condition(job.id)
        parts = await self.services.client.run(read_session, job, usage)
        return json_text({**session_json(parts), **condition_json(condition)})


class AttachmentDownload(DownloadHandler):
    """A file of a session's messages. No browser shows it in the page: it is sent as a download of unknown type."""

    async def get(self, session_id: str, sha256: str) -> None:
        """Send the file."""
        job = blocking_job(await self.services.client.get_job(session_id))
        attachments = await self.services.client.run(job.attachments)
        attachment = find_attachment(attachments, sha256)
        if attachment is None:
            raise HTTPError(404, reason="attachment not found")
        await self.send_file(attachment.name, UNKNOWN_TYPE, _pieces(job, attachment))


def _pieces(job: CollabJob, attachment: Attachment) -> Iterator[bytes]:
    """Yield the bytes in chunks, because a reader may be slow."""
    data = job.attachment_data(attachment)
    for start in range(0, len(data), CHUNK_BYTES):
        yield data[start : start + CHUNK_BYTES]


class SessionExport(DownloadHandler):
    """A whole session as a file."""

    async def get(self, session_id: str, form: str) -> None:
        """Send the file."""
        job = blocking_job(await self.services.client.get_job(session_id))
        export = await self.services.client.run(open_export, job, form)
        pieces = (piece.encode() for piece in export.pieces)
        await self.send_file(export.file_name, f"{export.content_type}; charset=UTF-8", pieces)
