"""Readers that follow a live session: one stream of it, or all of it in one iterator.

`Follower` decides what to read next of one stream; the blocking and the asyncio readers share it. It ends after
`MAPSessionCompleted`, which is the last event of every session and is written after its last message.

`watch` follows events, journal, messages and live text. It also yields None when nothing happened, so that a reader can
do other work between two reads.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import merge
from math import inf
from typing import Literal, NamedTuple, Protocol

from redis import Redis

from ..models.errors import ResultTimeout, SessionNotFound
from ..models.protocol.base import Event
from ..models.protocol.dialog import Message
from ..models.protocol.events import MapEvent, MAPEventType
from ..models.text.ids import entry_key
from ..models.turns.streaming import Delta, ToolEvent
from .redis.keys import session_key
from .redis.readers import (
    END_MARK,
    PAGE,
    Entry,
    Stream,
    StreamReader,
    read_batches,
    read_entries,
    read_message,
    read_stored,
)
from .turns.deltas import ListenerRegistration

_Watched = Literal["events", "journal", "deltas", "tools"]

#: Events that may come with messages.
_SPOKEN = frozenset(
    {MAPEventType.SESSION_STARTED, MAPEventType.TURN_COMPLETED, MAPEventType.SESSION_COMPLETED}
)
#: Event of a message from outside, which is in the dialog at once or after the next turn.
_POSTED = "message.posted"


@dataclass(frozen=True, slots=True)
class SessionUpdate:
    """An event of a session, with its messages."""

    #: A MAP event, or a journal event (for facts without a MAP event type).
    event: MapEvent | Event
    #: Messages of the turn that the event closes, and messages from outside since then; for the first event,
    #: the opening messages of the dialog.
    messages: tuple[Message, ...] = ()


class _Entry(NamedTuple):
    at_ms: int
    #: The end comes last: the counters of two streams do not say which entry of a millisecond was first.
    is_end: bool
    counter: int
    stream: _Watched
    text: str


def watch(
    client: Redis,
    session_id: str,
    *,
    deltas: bool = True,
    idle_ms: int = 500,
    waiting: Callable[[], object] = lambda: None,
) -> Iterator[SessionUpdate | Delta | ToolEvent | None]:
    """Yield all past events and all future ones, until the session has ended.

    With `deltas`, the live text of open turns and the events of their tool calls are yielded, too; models whose turns begin from now on send
    their output word by word. None is yielded after `idle_ms` milliseconds without an entry; `waiting` is
    called before that.

    Raises:
        SessionNotFound: The session does not exist or has expired.
    """
    dialog_reader = _DialogReader(StreamReader(client), session_id)
    grants = OpenGrants()
    cursors: dict[_Watched, str] = {"events": "0", "journal": "0", **({"tools": "0"} if deltas else {})}
    presence = ListenerRegistration(client, session_id)
    ended = False
    while not ended:
        if deltas:
            presence.refresh()
        entries = _read(client, session_id, cursors, idle_ms)
        for entry in entries:
            if entry.stream == "deltas":
                continue
            if entry.stream == "tools":
                yield read_stored(ToolEvent, entry.text, session_id=session_id, part="tools")
                continue
            moment = _make_update(entry, dialog_reader)
            ended = ended or moment.event.event_type == MAPEventType.SESSION_COMPLETED
            yield moment
            if isinstance(moment.event, MapEvent):
                token = token_of(moment.event)
                is_written = any(message.token_id == token for message in moment.messages)
                yield from grants.process(moment.event, is_written=is_written)
        texts = (entry.text for entry in entries if entry.stream == "deltas")
        yield from grants.filter_deltas(
            read_stored(Delta, text, session_id=session_id, part="deltas") for text in texts
        )
        if deltas and len(entries) < PAGE:
            # The events show which turns are running, so live text is read only after all past events.
            cursors.setdefault("deltas", "0")
        if not entries:
            waiting()
            yield None
            if not client.exists(session_key(session_id, "session")):
                raise SessionNotFound(session_id)


def replay(streams: StreamReader, session_id: str) -> Iterator[SessionUpdate]:
    """Yield all events of a session that has ended.

    Raises:
        SessionNotFound: There is no such session.
    """
    dialog_reader = _DialogReader(streams, session_id)
    for entry in merge(_recorded(streams, session_id, "events"), _recorded(streams, session_id, "journal")):
        yield _make_update(entry, dialog_reader)


def _recorded(
    streams: StreamReader, session_id: str, stream: Literal["events", "journal"]
) -> Iterator[_Entry]:
    for entry_id, text in streams.whole(session_id, stream):
        yield _entry(stream, entry_id, text)


class _DialogReader:
    """Reader of the dialog; keeps the messages read so far by their token."""

    def __init__(self, streams: StreamReader, session_id: str) -> None:
        self._streams = streams
        self.session_id = session_id
        self._cursor = "0"
        self._said: defaultdict[str | None, list[Message]] = defaultdict(list)

    def take_messages(self, token_id: str | None) -> tuple[Message, ...]:
        """Return the messages written under a token, once. A turn's messages are in the stream before its event."""
        for entry_id, text in self._streams.all(self.session_id, "dialog", after=self._cursor):
            message = read_message((entry_id, text), self.session_id)
            self._said[message.token_id].append(message)
            self._cursor = entry_id
        return tuple(self._said.pop(token_id, ()))


class OpenGrants:
    """Grants that were dispatched and not completed: their output is not written yet.

    Args:
        tokens: Tokens of grants that were dispatched before the first event that is processed.
    """

    def __init__(self, tokens: Iterable[str] = ()) -> None:
        #: Newest yielded delta by token; None before the first.
        self._speaking: dict[str, Delta | None] = dict.fromkeys(tokens)

    def process(self, event: MapEvent, *, is_written: bool) -> Iterator[Delta]:
        """Process an event; a grant that ended without a message retracts its live text.

        `is_written`: whether a message of the grant was yielded.
        """
        token = token_of(event)
        if token is None:
            return
        if event.event_type == MAPEventType.TURN_DISPATCHED:
            self._speaking.setdefault(token, None)
        elif event.event_type == MAPEventType.TURN_COMPLETED:
            shown = self._speaking.pop(token, None)
            if shown is not None and not is_written:
                yield shown.model_copy(update={"offset": 0, "text": ""})

    def filter_deltas(self, deltas: Iterable[Delta]) -> Iterator[Delta]:
        """Yield the deltas whose turn is still running."""
        for delta in deltas:
            if delta.token_id in self._speaking:
                self._speaking[delta.token_id] = delta
                yield delta


def _read(client: Redis, session_id: str, cursors: dict[_Watched, str], idle_ms: int) -> list[_Entry]:
    """Return new entries of all watched streams in the order of their time; advance the cursors."""
    keys = {stream: session_key(session_id, stream) for stream in cursors}
    positions: dict[str, str] = {keys[stream]: at for stream, at in cursors.items()}
    batches = read_batches(client.xread(positions, count=PAGE, block=idle_ms))  # type: ignore[arg-type]
    entries = []
    for stream, key in keys.items():
        for entry_id, text in batches.get(key, ()):
            entries.append(_entry(stream, entry_id, text))
            cursors[stream] = entry_id
    return sorted(entries)


def _entry(stream: _Watched, entry_id: str, text: str) -> _Entry:
    at_ms, counter = entry_key(entry_id)
    return _Entry(at_ms, stream == "events" and END_MARK in text, counter, stream, text)


def _make_update(entry: _Entry, dialog_reader: _DialogReader) -> SessionUpdate:
    if entry.stream == "journal":
        note = read_stored(Event, entry.text, session_id=dialog_reader.session_id, part="journal")
        return SessionUpdate(note, dialog_reader.take_messages(None) if note.event_type == _POSTED else ())
    event = read_stored(MapEvent, entry.text, session_id=dialog_reader.session_id, part="events")
    if event.event_type not in _SPOKEN:
        return SessionUpdate(event)
    token = token_of(event)
    return SessionUpdate(
        event,
        dialog_reader.take_messages(token)
        if token is None
        else (*dialog_reader.take_messages(token), *dialog_reader.take_messages(None)),
    )


def token_of(event: MapEvent) -> str | None:
    """Return the execution token of the grant of an event; None: it belongs to none."""
    token_id = (event.payload or {}).get("token_id")
    return token_id if isinstance(token_id, str) else None


#: Milliseconds of one blocking read; shorter than the socket timeout.
BLOCK_MS = 2_000
#: Cursor of the events for a reader that needs only the end.
END_ONLY = "end"


class Follower:
    """Cursors of one reader of one stream, with the end of the session.

    Args:
        session_id: The session.
        stream: The name of the stream.
        after: Cursor to start after, or `END_ONLY`.
        newest: List with the newest event; empty: the session is a draft.
    """

    def __init__(self, session_id: str, stream: Stream, *, after: str, newest: list[Entry]) -> None:
        at, text = newest[0] if newest else ("0", "")
        self.done = False
        self._session_id = session_id
        self._stream = stream
        self._ended = END_MARK in text
        self._cursors: dict[Stream, str] = {"events": at, stream: at if after == END_ONLY else after}

    def positions(self) -> dict[str, str]:
        """Return the streams of XREAD: key -> cursor."""
        return {session_key(self._session_id, stream): at for stream, at in self._cursors.items()}

    def block_ms(self, left_s: float = inf) -> int | None:
        """Return the maximum milliseconds of the next read; None: do not wait, nothing more will be written."""
        return None if self._ended else max(1, int(min(BLOCK_MS, left_s * 1000)))

    def feed(self, batches: Mapping[str, list[Entry]]) -> list[Entry]:
        """Process the entries of one read; return the new entries of the followed stream."""
        new_entries: dict[Stream, list[Entry]] = {}
        for stream in self._cursors:
            entries = batches.get(session_key(self._session_id, stream), [])
            if entries:
                self._cursors[stream] = entries[-1][0]
            new_entries[stream] = entries
        # Only a read that starts after the end is known is certain to return the last entry.
        self.done = self._ended and len(new_entries[self._stream]) < PAGE
        self._ended = self._ended or any(END_MARK in text for _, text in new_entries["events"])
        return new_entries[self._stream]


def follow(
    client: Redis,
    session_id: str,
    stream: Stream,
    *,
    after: str = "0",
    timeout_s: float | None = None,
    waiting: Callable[[], object] = lambda: None,
) -> Iterator[Entry]:
    """Yield (cursor, JSON) pairs after a cursor, as they arrive, until the session has ended.

    `waiting` is called before each read of a session that has not ended.

    Raises:
        SessionNotFound: The session does not exist or has expired.
        ResultTimeout: The session did not end within `timeout_s` seconds.
    """
    deadline = inf if timeout_s is None else time.monotonic() + timeout_s
    newest = read_entries(client.xrevrange(session_key(session_id, "events"), count=1))
    if not newest and not client.exists(session_key(session_id, "session")):
        raise SessionNotFound(session_id)
    follower = Follower(session_id, stream, after=after, newest=newest)
    while True:
        block_ms = follower.block_ms(deadline - time.monotonic())
        if block_ms is not None:
            waiting()
        answer = client.xread(follower.positions(), count=PAGE, block=block_ms)  # type: ignore[arg-type]
        entries = follower.feed(read_batches(answer))
        yield from entries
        if follower.done:
            return
        if not entries and not client.exists(session_key(session_id, "session")):
            raise SessionNotFound(session_id)
        if time.monotonic() >= deadline:
            raise ResultTimeout(session_id, timeout_s=timeout_s or 0)


async def _no_wait() -> None:
    pass


class AsyncReader(Protocol):
    """Where an asynchronous follower reads."""

    async def read(
        self, positions: Mapping[str, str], *, count: int, block_ms: int | None
    ) -> Mapping[str, list[Entry]]:
        """Return new entries by key; wait for them up to `block_ms` milliseconds."""
        ...

    async def newest(self, key: str) -> list[Entry]:
        """Return the newest entry of a stream."""
        ...

    async def exists(self, session_id: str) -> bool:
        """Return whether Redis holds a session."""
        ...


async def afollow(
    reader: AsyncReader,
    session_id: str,
    stream: Stream,
    *,
    after: str = "0",
    waiting: Callable[[], Awaitable[object]] = _no_wait,
) -> AsyncGenerator[Entry, None]:
    """Yield the same as `follow`, for asyncio. It has no timeout parameter: use `asyncio.timeout`."""
    newest = await reader.newest(session_key(session_id, "events"))
    if not newest and not await reader.exists(session_id):
        raise SessionNotFound(session_id)
    follower = Follower(session_id, stream, after=after, newest=newest)
    while True:
        block_ms = follower.block_ms()
        if block_ms is not None:
            await waiting()
        batches = await reader.read(follower.positions(), count=PAGE, block_ms=block_ms)
        entries = follower.feed(batches)
        for entry in entries:
            yield entry
        if follower.done:
            return
        if not entries and not await reader.exists(session_id):
            raise SessionNotFound(session_id)
