"""The page of one session, and the JSON that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from tornado.web import HTTPError, url

from ...client.aio.jobs import blocking_job
from ...jobs.attachments import find_attachment
from ...jobs.collab import CollabJob
from ...jobs.conditions import NO_CONDITION
from ...models.attachments import UNKNOWN_TYPE, Attachment
from ...models.errors import SessionNotFound, SymposiaError
from ...models.text.redact import json_text
from ..live.fragments import SentFragments
from ..live.health_feed import render_session_notice
from ..live.load_limits import SharedReads
from ..views.sentences import session_notice
from ..views.session.comparison import compare_sessions
from ..views.session.export import open_export
from ..views.session.pages import MAX_ENTRIES, read_events, read_message, read_messages
from ..views.session.reading import read_session
from ..views.session.snapshot import session_json
from ..views.session.transcript import events_json, messages_json, timeline_json
from ..views.visible import make_fields_visible, make_visible
from .base import DashboardHandler, DataHandler, PageHandler
from .downloads import CHUNK_BYTES, DownloadHandler
from .fragments import sent_pages
from .session_actions import ACTIONS, SessionAction
from .session_html import MAX_PEOPLE
from .session_stream import (
    SessionChanges,
    SessionStream,
    SessionView,
    open_session_view,
    open_sessions,
    session_html,
)

T = TypeVar("T")

#: Group of a session's id in URLs, also shortened.
_ID = r"([0-9a-f][0-9a-f-]{7,35})"
_READS = "symposia_session_reads"
#: Characters of a whole id.
WHOLE_ID = 36
#: Default number of messages, and of events, of a page.
MESSAGES, EVENTS, TIMELINE_EVENTS = 50, 100, 400


def session_routes() -> list[Any]:
    """Return the routes of one session."""
    page, api = f"/collabs/{_ID}", f"/api/collabs/{_ID}"
    return [
        url(page, SessionPage, name="collab"),
        url(f"{page}/messages/([0-9-]+)", WholeMessage),
        url(api, SessionData),
        url(f"{api}/messages", MessagesData),
        url(f"{api}/messages/([0-9-]+)", MessageData),
        url(f"{api}/timeline", TimelineData),
        url(f"{api}/events", EventsData),
        url(f"{api}/memory", MemoryData),
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
        notice = session_notice(row, self.services.hub.condition(session_id), self.health.judged_ms())
        comparison = await self._compare(view) if params.compare else ""
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
            is_followed=not view.is_complete,
            sent=sent_pages(self.application).put(SentFragments.of(fragments)),
            events=session_html(self).render("events", session_id, page=events, params=params),
            comparison=comparison,
            roster=list(view.opened.parts.facts.roster),
            MAX_PEOPLE=MAX_PEOPLE,
            **self.health_values(ended_ms=row["ended_ms"]),
        )

    async def _compare(self, view: SessionView) -> str:
        """Return the session side by side with another one, as HTML."""
        client, params = self.services.client, view.params
        comparison, problem = None, ""
        try:
            await self.check_session(params.compare)
            other = blocking_job(await client.get_job(params.compare))
            reader = await client.archived()
            comparison = await client.run(compare_sessions, view.opened.job, other, reader)
        except SymposiaError as error:
            problem = str(error)
        return session_html(self).render(
            "compare", view.opened.job.id, comparison=comparison, problem=problem, params=params
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


class SessionDataHandler(DataHandler):
    """Handler of JSON about one session."""

    async def read(self, session_id: str, reading: Callable[[CollabJob], T]) -> T:
        """Return what a blocking function reads of a session.

        Args:
            session_id: Its id, also shortened.
            reading: The function; it is called in a thread of the client.
        """
        job = blocking_job(await self.services.client.get_job(session_id))
        return await self.services.client.run(reading, job)

    @property
    def before(self) -> str | None:
        """Return the cursor of the wanted page; None: the newest page."""
        return self.query_text("before") or None


class SessionData(DataHandler):
    """The state of a session. Requests of the same time share one read, and its JSON."""

    async def get(self, *parts: str) -> None:
        """Send the state."""
        (session_id,) = parts
        reads: SharedReads = self.application.settings.setdefault(_READS, SharedReads())
        self.send_json_text(await reads.read(session_id, lambda: self._read(session_id)))

    async def _read(self, session_id: str) -> str:
        job = blocking_job(await self.services.client.get_job(session_id))
        parts = await self.services.client.run(read_session, job, open_sessions(self).usage)
        condition = NO_CONDITION if parts.state.is_final else self.services.hub.condition(job.id)
        return json_text(session_json(parts, condition))


class MessagesData(SessionDataHandler):
    """A page of the transcript."""

    async def data(self, *parts: str) -> object:
        """Return the newest messages, or those before a cursor."""
        before, count = self.before, self.query_number("count", MESSAGES, most=MAX_ENTRIES)
        return await self.read(
            parts[0], lambda job: messages_json(read_messages(job, before=before, count=count))
        )


class MessageData(SessionDataHandler):
    """One whole message as plain text."""

    async def data(self, *parts: str) -> object:
        """Return the text."""
        session_id, entry_id = parts
        message = await self.read(session_id, lambda job: read_message(job, entry_id))
        if message is None:
            raise SessionNotFound(session_id)
        return {"id": entry_id, "text": make_visible(message.content)}


class TimelineData(SessionDataHandler):
    """A page of the timeline."""

    async def data(self, *parts: str) -> object:
        """Return the spans, waits and marks of the newest events, or of those before a cursor."""
        before, count = self.before, self.query_number("count", TIMELINE_EVENTS, most=MAX_ENTRIES)
        return await self.read(
            parts[0], lambda job: timeline_json(read_events(job, before=before, count=count))
        )


class EventsData(SessionDataHandler):
    """A page of the events."""

    async def data(self, *parts: str) -> object:
        """Return the newest events, or those before a cursor."""
        before, count = self.before, self.query_number("count", EVENTS, most=MAX_ENTRIES)
        return await self.read(
            parts[0], lambda job: events_json(read_events(job, before=before, count=count))
        )


class MemoryData(SessionDataHandler):
    """The dialog memory of a session's user and room, masked."""

    async def data(self, *parts: str) -> object:
        """Return the memory; None: the session has no user."""
        options = (await self.read(parts[0], lambda job: job.spec)).memory
        if options is None or options.user_id is None or options.room_id is None:
            return {"memory": None}
        report = await self.services.client.memory.show(options.user_id, options.room_id)
        return {"memory": make_fields_visible(report.to_json())}


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
