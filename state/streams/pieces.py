"""The output of a session piece by piece, with its messages in the order of the dialog.

The blocking and the asyncio reader share `PieceReader`, which does no I/O.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping

from redis import Redis

from ...models.errors import SessionNotFound
from ...models.protocol.dialog import Message
from ...models.protocol.events import MapEvent, MAPEventType
from ...models.turns.streaming import Delta
from ..following import OpenGrants, token_of
from ..redis.keys import session_key
from ..redis.readers import PAGE, Entry, read_batches, read_message, read_stored
from ..turns.deltas import ListenerRegistration
from .hub import HubReader

#: Milliseconds of one blocking read.
_BLOCK_MS = 500
#: The same for asyncio, where many readers may wait.
_ASYNC_BLOCK_MS = 2_000


class PieceReader:
    """Cursors of one reader, and the turns whose output is read.

    A message is yielded once, after all messages before it in the dialog: so a reader that continues after a message
    misses none.

    Args:
        session_id: The session.
        after: Cursor in the dialog to start after.
    """

    def __init__(self, session_id: str, *, after: str = "0") -> None:
        self.has_ended = False
        self._session_id = session_id
        # In this order: a cluster reads them one after the other, and the messages of an event must not be missed.
        self._cursors = {"events": "0", "dialog": after}
        self._grants = OpenGrants()
        #: Tokens of yielded messages whose turn has not completed yet.
        self._written: set[str] = set()

    def positions(self) -> dict[str, str]:
        """Return the streams to read: key -> cursor."""
        return {session_key(self._session_id, stream): at for stream, at in self._cursors.items()}

    def take_dialog(self, batches: Mapping[str, list[Entry]]) -> tuple[list[Message], dict[str, str] | None]:
        """Return the messages of a read, and where the next ones are if there may be more."""
        entries = self._entries("dialog", batches)
        messages = [read_message(entry, self._session_id) for entry in entries]
        self._written.update(message.token_id for message in messages if message.token_id)
        key = session_key(self._session_id, "dialog")
        return messages, {key: self._cursors["dialog"]} if len(entries) >= PAGE else None

    def take_rest(self, batches: Mapping[str, list[Entry]]) -> Iterator[Delta]:
        """Process the events of a read, and yield its output. All messages of the read were taken before."""
        events = self._entries("events", batches)
        for _, text in events:
            yield from self._process(read_stored(MapEvent, text, session_id=self._session_id, part="events"))
        deltas = (
            read_stored(Delta, text, session_id=self._session_id, part="deltas")
            for _, text in self._entries("deltas", batches)
        )
        yield from self._grants.filter_deltas(
            delta for delta in deltas if delta.token_id not in self._written
        )
        if len(events) < PAGE:
            # The events show which turns are running, so output is read only after all past events.
            self._cursors.setdefault("deltas", "0")

    def _process(self, event: MapEvent) -> Iterator[Delta]:
        """Process an event; a grant that ended without a message retracts its output."""
        self.has_ended = self.has_ended or event.event_type == MAPEventType.SESSION_COMPLETED
        token = token_of(event)
        yield from self._grants.process(event, is_written=token in self._written)
        if token is not None and event.event_type == MAPEventType.TURN_COMPLETED:
            self._written.discard(token)

    def _entries(self, stream: str, batches: Mapping[str, list[Entry]]) -> list[Entry]:
        entries = batches.get(session_key(self._session_id, stream), [])
        if entries:
            self._cursors[stream] = entries[-1][0]
        return entries


def stream_pieces(
    client: Redis, session_id: str, *, after: str = "0", waiting: Callable[[], object] = lambda: None
) -> Iterator[Delta | Message]:
    """Yield the output and the messages of a live session until it has ended.

    Args:
        client: The client.
        session_id: The session.
        after: Cursor in the dialog to start after.
        waiting: Called when nothing has happened for some time.

    Raises:
        SessionNotFound: The session does not exist or has expired.
    """
    pieces, presence = PieceReader(session_id, after=after), ListenerRegistration(client, session_id)

    def read(positions: Mapping[str, str], block_ms: int | None) -> Mapping[str, list[Entry]]:
        return read_batches(client.xread(dict(positions), count=PAGE, block=block_ms))  # type: ignore[arg-type]

    while not pieces.has_ended:
        presence.refresh()
        batches = read(pieces.positions(), _BLOCK_MS)
        messages, more = pieces.take_dialog(batches)
        yield from messages
        while more is not None:
            messages, more = pieces.take_dialog(read(more, None))
            yield from messages
        yield from pieces.take_rest(batches)
        if not batches:
            waiting()
            if not client.exists(session_key(session_id, "session")):
                raise SessionNotFound(session_id)


async def astream_pieces(
    reader: HubReader, session_id: str, *, after: str = "0", waiting: Callable[[], Awaitable[object]]
) -> AsyncGenerator[Delta | Message, None]:
    """Yield the same as `stream_pieces`, for asyncio."""
    pieces = PieceReader(session_id, after=after)
    while not pieces.has_ended:
        await reader.announce(session_id)
        batches = await reader.read(pieces.positions(), count=PAGE, block_ms=_ASYNC_BLOCK_MS)
        messages, more = pieces.take_dialog(batches)
        for message in messages:
            yield message
        while more is not None:
            messages, more = pieces.take_dialog(await reader.read_now(more, count=PAGE))
            for message in messages:
                yield message
        for delta in pieces.take_rest(batches):
            yield delta
        if not batches:
            await waiting()
            if not await reader.exists(session_id):
                raise SessionNotFound(session_id)
