"""Changes of one session, as server-sent events and for polling with the same positions."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing

from ...client.aio.jobs import blocking_job
from ...models.protocol.events import MAPEventType
from ..live.positions import Part, Positions, read_positions, write_positions
from ..live.session_streams import StreamEntry, read_changes, read_pages
from ..views.session.transcript import stream_change
from .base import DashboardHandler
from .live import OPENING, PING_S, StreamHandler, sent_position

#: The last event of every session, as its record has it.
_END = f'"event_type":"{MAPEventType.SESSION_COMPLETED.value}"'
#: Event after which the page does not connect again.
_END_EVENT = "event: end\ndata: {}\n\n"
#: Comment that keeps the connection.
_PING = ": ping\n\n"


class SessionStream(StreamHandler):
    """Changes as events without a name, and `end`. The id of an event is the position after it.

    A page that is too slow is disconnected without `end`: it connects again from its position.
    """

    async def send_events(self, *parts: str) -> None:
        """Send the changes from the position of the page on, until the session ends."""
        job = await self.services.client.get_job(parts[0])
        self.session_id = job.id
        sent = dict(read_positions(sent_position(self)))
        await self.send(OPENING)
        if not (await job.state()).is_final and not await self._send_until_last(job.id, sent):
            return
        if blocking_job(job).is_live:
            async with aclosing(read_pages(self.services.redis, job.id, sent)) as pages:
                async for page in pages:
                    await self._send_entries(job.id, page.entries, sent)
        await self.send(_END_EVENT)

    async def _send_until_last(self, session_id: str, sent: dict[Part, str]) -> bool:
        """Send changes until the last event was sent. Entries of other streams may be left.

        Returns:
            Whether the last event was sent; False: the page is too slow.
        """
        followed = self.services.hub.streams.follow(session_id, after=dict(sent), idle_s=PING_S)
        async with aclosing(followed):
            async for entries in followed:
                await self._send_entries(session_id, entries, sent)
                if any(entry.part == "events" and _END in entry.text for entry in entries):
                    return True
        return False

    async def _send_entries(self, session_id: str, entries: list[StreamEntry], sent: dict[Part, str]) -> None:
        """Send entries as events, or a comment, and store their positions in `sent`.

        Markdown is rendered in a thread, so that other pages do not wait.
        """
        if len(entries) > 1 or any(entry.part == "dialog" for entry in entries):
            await self.send(await self.services.client.run(_events, session_id, entries, dict(sent)))
        else:
            await self.send(_events(session_id, entries, sent) or _PING)
        sent.update({entry.part: entry.position for entry in entries})


class SessionChanges(DashboardHandler):
    """The same changes for a page that polls."""

    async def get(self, session_id: str) -> None:
        """Send the changes since a position, and the position of the next request."""
        page = await read_changes(self.services.redis, session_id, read_positions(sent_position(self)))
        changes = await self.services.client.run(_changes, session_id, page.entries)
        position = write_positions(page.after)
        self.send_json_text(f'{{"position":"{position}","changes":[{",".join(changes)}]}}')


def _events(session_id: str, entries: Iterable[StreamEntry], sent: Positions) -> str:
    """Return entries as events. The id of each is exact, because entries of another stream may come late."""
    positions, events = dict(sent), []
    for entry in entries:
        positions[entry.part] = entry.position
        if change := _change(session_id, entry):
            events.append(f"id: {write_positions(positions)}\ndata: {change}\n\n")
    return "".join(events)


def _changes(session_id: str, entries: Iterable[StreamEntry]) -> list[str]:
    return [change for entry in entries if (change := _change(session_id, entry))]


def _change(session_id: str, entry: StreamEntry) -> str | None:
    return stream_change(session_id, entry.part, entry.position, entry.text)
