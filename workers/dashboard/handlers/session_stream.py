"""Changes of one session, as server-sent events and for polling with the same positions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, suppress

from ....client.aio.jobs import blocking_job
from ....models.protocol.events import MAPEventType
from ..live.session_polling import read_changes
from ..live.session_streams import StreamEntry
from ..views.session.stream_changes import stream_change
from .base import DashboardHandler
from .live import OPENING, PING_S, StreamHandler, position_of

#: The last event of every session, as its record has it.
_END = f'"event_type":"{MAPEventType.SESSION_COMPLETED.value}"'
#: Seconds after the last event in which entries of other streams may arrive: the first read of a page's streams may
#: have begun before the page.
_LATE_S = 1.0
#: Event after which the page does not connect again.
_END_EVENT = "event: end\ndata: {}\n\n"


class SessionStream(StreamHandler):
    """Changes as events without a name, and `end`. The id of an event is its position.

    A page that is too slow is disconnected without `end`: it connects again from its position.
    """

    async def send_events(self, *parts: str) -> None:
        """Send the changes from the position of the page on, until the session ends."""
        job = await self.services.client.get_job(parts[0])
        position, streams = self.position(), self.services.hub.streams
        await self.send(OPENING)
        if (await job.state()).is_final:
            is_live = blocking_job(job).is_live
            entries = await streams.read_since(job.id, position) if is_live else []
            await self.send(await self._events(job.id, entries) + _END_EVENT)
            return
        async with aclosing(streams.follow(job.id, since=position, idle_s=PING_S)) as followed:
            has_ended = await self._send_until_end(job.id, followed)
        if has_ended:
            await self.send(_END_EVENT)

    async def _send_until_end(self, session_id: str, followed: AsyncIterator[StreamEntry | None]) -> bool:
        """Send changes until the last event. Messages that were read later than it are still sent.

        Returns:
            Whether the page has all changes; False: it is too slow.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as deadline:
                async for entry in followed:
                    await self.send(
                        ": ping\n\n" if entry is None else await self._events(session_id, [entry])
                    )
                    if entry is not None and entry.part == "events" and _END in entry.text:
                        deadline.reschedule(asyncio.get_running_loop().time() + _LATE_S)
                return False
        return True

    async def _events(self, session_id: str, entries: list[StreamEntry]) -> str:
        """Return entries as events. Markdown is rendered in a thread, so that other pages do not wait."""
        if len(entries) > 1 or any(entry.part == "dialog" for entry in entries):
            return await self.services.client.run(_events, session_id, entries)
        return _events(session_id, entries)


class SessionChanges(DashboardHandler):
    """The same changes for a page that polls."""

    async def get(self, session_id: str) -> None:
        """Send the changes since a position, and the position of the next request."""
        entries, position = await read_changes(self.services.redis, session_id, since=position_of(self))
        changes = await self.services.client.run(_changes, session_id, entries)
        self.send_json_text(f'{{"position":"{position}","changes":[{",".join(changes)}]}}')


def _events(session_id: str, entries: Iterable[StreamEntry]) -> str:
    changes = ((entry.position, _change(session_id, entry)) for entry in entries)
    return "".join(f"id: {position}\ndata: {change}\n\n" for position, change in changes if change)


def _changes(session_id: str, entries: Iterable[StreamEntry]) -> list[str]:
    return [it for entry in entries if (it := _change(session_id, entry))]


def _change(session_id: str, entry: StreamEntry) -> str | None:
    return stream_change(session_id, entry.part, entry.position, entry.text)
