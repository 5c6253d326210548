"""Live streams of server-sent events, and the same changes for pages that poll.

The id of an event is a position: of a session, the ids of the last entries of its streams in Redis; of the list, a
cursor. A page that reconnects sends the newest id, and gets what changed since, also from another Flower process.
Rows of the list may be sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from tornado.iostream import StreamClosedError

from ...models.errors import InvalidInput
from ...models.sessions.query import SessionQuery
from ...models.text.redact import json_text
from ..live.fragments import View
from ..live.health_feed import SEND_EVERY_S
from ..live.positions import BEGINNING
from ..live.session_list import Changes, Cursor, ListedRow, read_cursor
from .base import BROWSER_COOKIE, DashboardHandler, DataHandler
from .collab_list import list_view
from .collabs import read_query
from .fragments import poll_fragments, send_fragments
from .health import health_event
from .inbox import InboxView
from .schedules import SchedulesView

#: Seconds without an event after which a comment is sent, so that proxies keep the connection.
PING_S = 15.0
#: Seconds after which a change of the state of the data is sent.
_HEALTH_TICK_S = 0.5
#: Start of every stream: milliseconds after which a browser reconnects.
OPENING = "retry: 1000\n\n"
_RELOAD = "event: reload\ndata: {}\n\n"


class StreamHandler(DashboardHandler):
    """Handler of a stream. A slow page blocks its own handler only, and nothing is queued for it."""

    #: The session that the page shows; None: another page.
    session_id: str | None = None
    _writes: asyncio.Lock
    _task: asyncio.Task[None] | None = None
    _health_task: asyncio.Task[None] | None = None
    _is_closed = False

    async def get(self, *parts: str) -> None:
        """Send events until the page disconnects; status 204 if its browser has too many streams."""
        with self.services.slots.slot(self._browser()) as is_free:
            if not is_free:
                self.set_status(204)
                return
            self.set_header("Content-Type", "text/event-stream; charset=UTF-8")
            self.set_header("X-Accel-Buffering", "no")  # nginx would collect the events
            self._task, self._writes = asyncio.current_task(), asyncio.Lock()
            try:
                await self.send_events(*parts)
            except StreamClosedError:
                return
            except asyncio.CancelledError:
                if not self._is_closed:
                    raise
            finally:
                if self._health_task is not None:
                    self._health_task.cancel()

    async def send_events(self, *parts: str) -> None:
        """Send events; `parts` are the groups of the URL."""
        raise NotImplementedError

    def on_connection_close(self) -> None:
        """End the handler, so that its slot is free at once."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()

    async def send(self, events: str) -> None:
        """Send events, and wait until they are on their way. The first call also begins to send the state of the data."""
        async with self._writes:  # Tornado knows one waiting `flush` only
            self.write(events)
            await self.flush()
        if self._health_task is None:
            self._health_task = asyncio.create_task(self._send_health())

    async def _send_health(self) -> None:
        """Send the state of the data every two seconds, and soon after it has changed."""
        with suppress(StreamClosedError):
            while True:
                revision = self.health.revision
                await self.send(f"event: health\ndata: {health_event(self.services, self.session_id)}\n\n")
                for _ in range(round(SEND_EVERY_S / _HEALTH_TICK_S)):
                    await asyncio.sleep(_HEALTH_TICK_S)
                    if self.health.revision != revision:
                        break

    def _browser(self) -> str:
        return self.get_cookie(BROWSER_COOKIE) or self.query_text("client") or str(self.request.remote_ip)


#: Name in the URL -> view of the page.
_VIEWS: dict[str, Callable[[DashboardHandler], View]] = {
    "collabs": list_view,
    "inbox": InboxView,
    "schedules": SchedulesView,
}


def open_view(handler: DashboardHandler) -> View | None:
    """Return the view that a page names; None: it names none.

    Raises:
        InvalidInput: There is no such view.
    """
    if not (name := handler.query_text("view")):
        return None
    if name not in _VIEWS:
        raise InvalidInput("view", name, f"must be one of {', '.join(_VIEWS)}")
    return _VIEWS[name](handler)


def sent_position(handler: DashboardHandler) -> str:
    """Return the position that a page sent. A reconnecting browser sends it in a header."""
    return handler.request.headers.get("Last-Event-ID") or handler.query_text("after", BEGINNING)


class CollabsStream(StreamHandler):
    """Changes of the list of sessions.

    The events are `collab` with a row, `gone` for a session outside the filter, `counts`, and `reload` if changes
    since the position are not in memory.
    """

    async def send_events(self, *_parts: str) -> None:
        """Send the rows that changed since the position of the page, then each change."""
        if (view := open_view(self)) is not None:
            await self.send(OPENING)
            await send_fragments(self, view, self.send)
            return
        sessions, wanted, cursor = self.services.sessions, read_query(self), cursor_of(self)
        start = "" if cursor.position == BEGINNING else _change_events(sessions.changes_since(cursor), wanted)
        cursor = sessions.cursor
        await self.send(OPENING + start + self._counts())
        while True:
            if not await sessions.wait_for_change(cursor.revision, timeout_s=PING_S):
                await self.send(": ping\n\n")
                continue
            changes, cursor = sessions.changes_since(cursor), sessions.cursor
            await self.send(_change_events(changes, wanted) + self._counts())

    def _counts(self) -> str:
        return f"event: counts\ndata: {self.services.sessions.counts_text}\n\n"


class CollabsChanges(DataHandler):
    """The same changes for a page that polls."""

    async def data(self, *_parts: str) -> object:
        """Return the rows that changed since a position."""
        if (view := open_view(self)) is not None:
            return await poll_fragments(self, view)
        sessions, wanted = self.services.sessions, read_query(self)
        changes = sessions.changes_since(cursor_of(self))
        rows = [listed.row for listed in changes.rows]
        return {
            "position": str(sessions.cursor),
            "counts": sessions.counts,
            "collabs": [row for row in rows if wanted.matches(row)],
            "reload": not changes.is_complete,
            "gone": [*changes.removed, *(row["id"] for row in rows if not wanted.matches(row))],
        }


def cursor_of(handler: DashboardHandler) -> Cursor:
    """Return the cursor that a page of the list has.

    Raises:
        InvalidInput: It is not a position from an earlier answer.
    """
    return read_cursor(sent_position(handler), name="after")


def _change_events(changes: Changes, wanted: SessionQuery) -> str:
    gone = "".join(map(_gone_event, changes.removed))
    return ("" if changes.is_complete else _RELOAD) + gone + _row_events(changes.rows, wanted)


def _row_events(rows: list[ListedRow], wanted: SessionQuery) -> str:
    events = []
    for listed in rows:
        if wanted.matches(listed.row):
            events.append(f"id: {listed.cursor}\nevent: collab\ndata: {listed.text}\n\n")
        else:
            events.append(f"id: {listed.cursor}\n{_gone_event(listed.row['id'])}")
    return "".join(events)


def _gone_event(session_id: str) -> str:
    return f"event: gone\ndata: {json_text({'id': session_id})}\n\n"
