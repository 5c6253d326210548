"""Changes of one session, as server-sent events and for polling with the same positions."""

from __future__ import annotations

from tornado.iostream import StreamClosedError

from ....models.protocol.events import MAPEventType
from ..live.positions import read_position
from ..live.session_polling import read_changes, registration_of
from ..live.session_streams import StreamEntry
from ..views.session.stream_changes import stream_change
from .base import DashboardHandler

#: Event that is the last one of every session.
_END = f'"event_type":"{MAPEventType.SESSION_COMPLETED.value}"'


class SessionFollower(DashboardHandler):
    """Handler of a request that follows a session."""

    @property
    def since(self) -> str:
        """Return the position from which the session is followed. Raises InvalidInput."""
        text = self.request.headers.get("Last-Event-ID") or self.query_text("since", "0-0")
        return read_position(text, name="since")

    async def renew_registration(self, session_id: str) -> None:
        """Register as a reader of live output."""
        registration = registration_of(self.application.settings, self.services.redis)
        await registration.renew(session_id)


class SessionChanges(SessionFollower):
    """Changes since a position, for pages that get no stream."""

    async def get(self, session_id: str) -> None:
        """Send the changes, and the position of the next request."""
        await self.renew_registration(session_id)
        entries, position = await read_changes(self.services.redis, session_id, since=self.since)
        changes = [_change(session_id, entry) for entry in entries]
        self.set_header("Content-Type", "application/json; charset=UTF-8")
        self.write(f'{{"position":"{position}","changes":[{",".join(it for it in changes if it)}]}}')


class SessionStream(SessionFollower):
    """Changes as server-sent events. The id of an event is its position, with which a page continues."""

    async def get(self, session_id: str) -> None:
        """Send changes until the session ends or the page goes; 204: nothing will change."""
        job = await self.services.client.get_job(session_id)
        if (await job.state()).is_final:
            self.set_status(204)
            return
        self.set_header("Content-Type", "text/event-stream; charset=UTF-8")
        self.set_header("X-Accel-Buffering", "no")  # a proxy must not hold events back
        try:
            await self._send("retry: 1000\n\n")
            await self._follow(job.id)
        except StreamClosedError:
            pass

    async def _follow(self, session_id: str) -> None:
        await self.renew_registration(session_id)
        async for entry in self.services.hub.streams.follow(session_id, since=self.since):
            await self.renew_registration(session_id)
            if entry is None:
                await self._send(": idle\n\n")
                continue
            change = _change(session_id, entry)
            if change is not None:
                await self._send(f"id: {entry.position}\ndata: {change}\n\n")
            if entry.part == "events" and _END in entry.text:
                return

    async def _send(self, text: str) -> None:
        self.write(text)
        await self.flush()


def _change(session_id: str, entry: StreamEntry) -> str | None:
    return stream_change(session_id, entry.part, entry.position, entry.text)
