"""Sessions whose pages are open: one reader for all pages of a session, which keeps what they show up to date.

The reader starts with the first page and ends a while after the last one. It follows the streams of the session: messages,
live output and events. The state of the session is read again after a change, at most once in `STATE_EVERY_S` seconds.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from pydantic import JsonValue
from redis.exceptions import RedisError

from ...client.aio.client import AsyncClient
from ...client.aio.jobs import AsyncCollabJob, blocking_job
from ...jobs.collab import CollabJob
from ...models.errors import CorruptSession, SessionNotFound, SymposiaError
from ...models.protocol.base import Event
from ...models.protocol.dialog import Message
from ...models.protocol.events import MapEvent, MAPEventType
from ...models.turns.streaming import Delta, Drafts
from ...state.redis.readers import read_stored
from ..views.session.bounded_cache import BoundedCache
from ..views.session.pages import read_events, read_messages
from ..views.session.params import SessionParams, Times
from ..views.session.reading import read_session
from ..views.session.snapshot import SessionParts
from ..views.session.timeline import Change, TimelineBuilder, read_change
from ..views.session.transcript import Transcript
from ..views.session.turn_entries import TurnEntry
from ..views.session.usage import UsageTotals
from ..views.visible import make_fields_visible
from .fragments import Fragments
from .positions import read_positions
from .session_streams import SessionStreams, StreamEntry

log = logging.getLogger(__name__)

#: Messages of a page, and events that are read when its session is opened.
MESSAGES, EVENTS = 100, 500
#: Maximum bytes of rendered entries of a session, and what one takes besides its HTML.
MAX_RENDERED, _ENTRY_BYTES = 4_000_000, 1_000
#: Maximum bytes of the newest messages of a session, and of the parts of its transcript that pages have asked for.
MAX_MESSAGE_BYTES, MAX_TRANSCRIPT_BYTES = 8_000_000, 4_000_000
#: Maximum number of addresses of a session whose fragments are kept.
MAX_ADDRESSES = 8
#: Approximate bytes of an attempt in the timeline.
_SPAN_BYTES = 1_000
#: Maximum characters that are shown of the output of a running turn.
MAX_DRAFT = 8_000
#: Minimum seconds between two reads of the state.
STATE_EVERY_S = 1.0
#: Seconds without a page after which the reader ends, and between two checks of that.
UNUSED_S, _CHECK_S = 30.0, 5.0
#: Maximum number of sessions that are open at once, and their bytes; the one that was read least recently is closed. Only
#: for the number are those closed that were read in the last seconds: their pages would open them again at once.
MAX_OPEN, MAX_OPEN_BYTES, IN_USE_S = 200, 100_000_000, 10.0
#: An entry of the transcript, and what else its HTML was made from: name, details, and the query of its links.
RenderedKey: TypeAlias = tuple[TurnEntry, str, str, str]
#: What an address asks for, its times, and the newest message when it was read; empty: it does not matter.
TranscriptKey: TypeAlias = tuple[SessionParams, Times, str]
_ERRORS = (SymposiaError, RedisError, OSError)


@dataclass(frozen=True, slots=True)
class ShownSession:
    """What the pages of a session show at one moment. They are rendered in threads."""

    parts: SessionParts
    #: Newest messages with the ids of their stream entries, oldest first.
    messages: tuple[tuple[str, Message], ...]
    #: Whether there are messages before them.
    has_earlier: bool
    #: As `build_timeline` returns it.
    timeline: dict[str, Any]
    #: What each running turn has written so far.
    texts: dict[int, str]
    #: The dialog memory of its user and room, masked; None: it has none, or it is not read yet.
    memory: Sequence[Mapping[str, JsonValue]] | None
    #: Why the memory could not be read; empty: it could.
    memory_problem: str
    #: HTML of entries of the transcript, for all pages.
    rendered: BoundedCache[RenderedKey, str]


class OpenSession:
    """What the open pages of one session show.

    Args:
        client: The client of the dashboard.
        streams: The streams of sessions.
        session: The session.
        usage: The sums of this process.
    """

    def __init__(
        self, client: AsyncClient, streams: SessionStreams, session: AsyncCollabJob, usage: UsageTotals
    ) -> None:
        self._client = client
        self._streams = streams
        self._session = session
        self._usage = usage
        self._follower: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._is_dirty = False
        self._state_at = 0.0
        #: When the next pause of a turn ends, by the monotonic clock.
        self._pause_ends_at = math.inf
        #: When a page was read last, by the monotonic clock.
        self.used_at = time.monotonic()
        self._parts: SessionParts | None = None
        self._is_open = False
        self.messages: deque[tuple[str, Message]] = deque()
        self._message_bytes = 0
        self.has_earlier = False
        self.timeline = TimelineBuilder(max_spans=EVENTS)
        self.drafts = Drafts()
        self.memory: list[dict[str, JsonValue]] | None = None
        self.memory_problem = ""
        self._memory_turns = -1
        self._memory_task: asyncio.Task[None] | None = None
        self.rendered: BoundedCache[RenderedKey, str] = BoundedCache(MAX_RENDERED, _size)
        #: Fragments of pages that follow the session, by what their addresses ask for; with what they were made from.
        self.fragments: dict[SessionParams, tuple[object, Fragments]] = {}
        self._fragment_bytes = 0
        #: Parts of the transcript that pages have asked for.
        self.transcripts: BoundedCache[TranscriptKey, Transcript] = BoundedCache(
            MAX_TRANSCRIPT_BYTES, _transcript_size
        )
        #: Redis no longer holds the session as it was opened.
        self.is_gone = False
        #: Number of changes.
        self.revision = 0

    @property
    def parts(self) -> SessionParts:
        """Return its state; `read` was called before."""
        assert self._parts is not None  # noqa: S101 - `read` sets it
        return self._parts

    @property
    def size(self) -> int:
        """Return approximately how many bytes it takes."""
        cached = self.rendered.total + self.transcripts.total + self._fragment_bytes
        return cached + self._message_bytes + _SPAN_BYTES * len(self.timeline.spans)

    def keep(self, params: SessionParams, made_from: object, fragments: Fragments) -> None:
        """Keep the fragments of an address: pages with the same one share them."""
        if len(self.fragments) >= MAX_ADDRESSES:
            self.fragments.clear()
        self.fragments[params] = made_from, fragments
        # The turns in the fragments are those in `rendered`.
        self._fragment_bytes = sum(
            2 * len(html)
            for _, kept in self.fragments.values()
            for name, html in kept.html.items()
            if not name.startswith(("turn-", "message-"))
        )

    def shown(self) -> ShownSession:
        """Return what its pages show now."""
        return ShownSession(
            self.parts,
            tuple(self.messages),
            self.has_earlier,
            cast("dict[str, Any]", self.timeline.to_json()),
            {draft.turn_number: draft.text[:MAX_DRAFT] for draft in self.drafts},
            self.memory,
            self.memory_problem,
            self.rendered,
        )

    @property
    def job(self) -> CollabJob:
        """Return the session for calls that block."""
        return blocking_job(self._session)

    async def read(self, *, is_outdated: bool = False) -> None:
        """Read the session when it is opened, and its state after a change; `is_outdated`: the state is known to be old.

        Raises:
            SymposiaError: It cannot be read, and was not read before.
        """
        self.used_at = time.monotonic()
        if not self._is_open:
            if self._opening is None or self._opening.done():
                self._opening = asyncio.create_task(self._open())
            await asyncio.shield(self._opening)
        elif is_outdated or self._pause_ends_at <= self.used_at or (self._is_dirty and self.due_in_s() <= 0):
            try:
                await self._read_state()
            except SessionNotFound:
                # It is in the archive now, or its id is used again.
                self.is_gone = True
            except _ERRORS as error:
                log.debug("reading session %s for its page failed: %s", self._session.id, error)
        if self.parts.is_live and not self.parts.state.is_final and self._is_idle():
            self._follower = asyncio.create_task(self._follow())

    @property
    def is_complete(self) -> bool:
        """Return whether the session has ended, and everything of it is read."""
        has_memory = self._memory_task is None or self._memory_task.done()
        return self.parts.state.is_final and not self._is_dirty and self._is_idle() and has_memory

    def due_in_s(self) -> float:
        """Return the seconds until the state may be read again."""
        return self._state_at + STATE_EVERY_S - time.monotonic()

    async def wait(self, revision: int, timeout_s: float) -> None:
        """Wait for a change after a revision, or until the state is due."""
        if self.revision != revision:
            return
        timeout_s = min(timeout_s, max(0.05, self.due_in_s())) if self._is_dirty else timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            pass

    def close(self) -> None:
        """End the reader."""
        if self._follower is not None:
            self._follower.cancel()

    def _is_idle(self) -> bool:
        return self._follower is None or self._follower.done()

    def _notify(self) -> None:
        self.revision += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def _open(self) -> None:
        run = self._client.run
        await self._read_state()
        page = await run(read_messages, self.job, count=MESSAGES)
        events = await run(read_events, self.job, count=EVENTS)
        self.has_earlier = page.before is not None
        for entry_id, message in reversed(page.messages):
            self._add_message(entry_id, message)
        for entry in reversed(events.entries):
            self._take_change(read_change(entry.entry_id, entry.event))
        self._is_open = True
        self._notify()

    async def _read_state(self) -> None:
        self._is_dirty, self._state_at = False, time.monotonic()
        before = self._parts
        try:
            parts = await self._client.run(read_session, self.job, self._usage)
        except BaseException:
            self._is_dirty = True
            raise
        if before is not None and before.state.opened_ms != parts.state.opened_ms:
            raise SessionNotFound(self._session.id)  # the id is used again, for another session
        self._parts = parts
        now_ms = parts.state.now_ms
        pauses = [ms for turn in parts.state.open_turns() if (ms := turn.queued_ms or 0) > now_ms]
        self._pause_ends_at = self._state_at + (min(pauses) - now_ms) / 1000 if pauses else math.inf
        self._is_dirty = self._is_dirty or not parts.totals.is_complete
        self.revision += 1
        if parts.has_memory and self._memory_turns != parts.state.closed:
            # It may be in a Redis of its own, so the page does not wait for it.
            self._memory_turns = parts.state.closed
            self._memory_task = asyncio.create_task(self._read_memory())

    async def _read_memory(self) -> None:
        options = self.parts.facts.spec.memory
        try:
            report = await self._client.memory.show(
                str(options and options.user_id), str(options and options.room_id)
            )
        except _ERRORS as error:
            self.memory, self.memory_problem = self.memory or [], str(error)
        else:
            parameters = make_fields_visible(report.to_json())["parameters"]
            self.memory, self.memory_problem = cast("list[dict[str, JsonValue]]", parameters), ""
        self._notify()

    # -- changes -----------------------------------------------------------------------------

    async def _follow(self) -> None:
        """Take the changes of the session until it ends, or no page is open."""
        start = read_positions(f"{self.parts.followed_from_ms}-0")
        try:
            followed = self._streams.follow(self._session.id, after=start, idle_s=_CHECK_S)
            async with aclosing(followed):
                async for entries in followed:
                    if time.monotonic() - self.used_at > UNUSED_S:
                        return
                    if entries and self._take(entries):
                        return
        except _ERRORS as error:
            # The next read of a page starts it again; the page shows that the data is old.
            log.debug("following session %s for its page failed: %s", self._session.id, error)

    def _take(self, entries: list[StreamEntry]) -> bool:
        """Take new entries; return whether the last one of the session was among them."""
        has_ended = False
        for entry in entries:
            try:
                has_ended |= self._take_entry(entry)
            except CorruptSession as error:
                log.debug("an entry of session %s is left out: %s", self._session.id, error)
        self._notify()
        return has_ended

    def _take_entry(self, entry: StreamEntry) -> bool:
        session_id, part, text = self._session.id, entry.part, entry.text
        match part:
            case "dialog":
                self._add_message(
                    entry.position, read_stored(Message, text, session_id=session_id, part=part)
                )
            case "deltas":
                self._add_delta(read_stored(Delta, text, session_id=session_id, part=part))
                return False
            case "events":
                event = read_stored(MapEvent, text, session_id=session_id, part=part)
                self._take_change(read_change(entry.position, event))
                self._is_dirty = True
                return event.event_type is MAPEventType.SESSION_COMPLETED
            case _:
                note = read_stored(Event, text, session_id=session_id, part=part)
                self._take_change(read_change(entry.position, note))
        self._is_dirty = True
        return False

    def _add_message(self, entry_id: str, message: Message) -> None:
        if any(entry_id == other for other, _ in reversed(self.messages)):
            return
        self.messages.append((entry_id, message))
        self._message_bytes += _message_size(message)
        while len(self.messages) > MESSAGES or (
            self._message_bytes > MAX_MESSAGE_BYTES and len(self.messages) > 1
        ):
            self._message_bytes -= _message_size(self.messages.popleft()[1])
            self.has_earlier = True

    def _add_delta(self, delta: Delta) -> None:
        span = self.timeline.spans.get(f"{delta.turn_number}.{delta.attempt}")
        if span is None or span.get("ended_ms") is None:
            self.drafts.add(delta)

    def _take_change(self, change: Change) -> None:
        self.timeline.take(change)
        if change.span is not None and "ended_ms" in change.span:
            self.drafts.remove(int(str(change.span["turn"])))


def _size(_key: object, html: str) -> int:
    return _ENTRY_BYTES + 2 * len(html)


def _message_size(message: Message) -> int:
    return _ENTRY_BYTES + len(message.content) + len(str(message.tool_uses_data or ""))


def _transcript_size(_key: object, transcript: Transcript) -> int:
    texts = (text.rendered.html for entry in transcript.entries for text in entry.texts)
    tools = (tool.result for entry in transcript.entries for tool in entry.tools)
    spans = transcript.timeline["spans"] if transcript.timeline else ()
    return _ENTRY_BYTES * len(transcript.entries) + sum(map(len, (*texts, *tools))) + _SPAN_BYTES * len(spans)


class OpenSessions:
    """The sessions whose pages are open.

    Args:
        client: The client of the dashboard.
        streams: The streams of sessions.
    """

    def __init__(self, client: AsyncClient, streams: SessionStreams) -> None:
        self._client = client
        self._streams = streams
        self._usage = UsageTotals()
        self._sessions: OrderedDict[str, OpenSession] = OrderedDict()

    @property
    def usage(self) -> UsageTotals:
        """Return the sums of this process."""
        return self._usage

    async def get(self, session_id: str) -> OpenSession:
        """Return an open session, which is up to date.

        Args:
            session_id: Its whole id.

        Raises:
            SymposiaError: It cannot be read, and was not read before.
        """
        opened = self._sessions.get(session_id)
        if opened is None or opened.is_gone:
            session = await self._client.get_job(session_id)
            newer = self._sessions.get(session_id)
            if newer is None or newer is opened:
                newer = self._sessions[session_id] = OpenSession(
                    self._client, self._streams, session, self._usage
                )
            opened = newer
        self._sessions.move_to_end(session_id)
        self._close_unused()
        try:
            await opened.read()
        except SymposiaError:
            self._sessions.pop(session_id, None)
            raise
        return opened

    def _close_unused(self) -> None:
        """Close the sessions without a page, and those that were read least recently if there are too many."""
        now = time.monotonic()
        size = sum(opened.size for opened in self._sessions.values())
        while self._sessions:
            session_id, oldest = next(iter(self._sessions.items()))
            kept_s = IN_USE_S if size > MAX_OPEN_BYTES else UNUSED_S
            is_kept = len(self._sessions) <= MAX_OPEN and now - oldest.used_at < kept_s
            if len(self._sessions) == 1 or is_kept:
                return
            size -= oldest.size
            oldest.close()
            del self._sessions[session_id]
