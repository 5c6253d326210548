"""Everything that is stored of a session, in the order of its time, with a cursor to continue; and its live output.

A session has three streams: messages, MAP events, and the journal. The cursor has a position in each, so a reader that
was disconnected gets each entry exactly once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from typing import NamedTuple, Self

from ...models.errors import InvalidInput
from ...models.protocol.events import MapEvent, MAPEventType
from ...models.text.ids import entry_key
from ...models.text.text_cache import cache_texts
from ...models.turns.streaming import Delta
from ..following import OpenGrants, token_of
from ..redis.keys import session_key
from ..redis.readers import END_MARK, PAGE, Entry, Stream, read_message, read_stored

_CURSOR = re.compile(r"(\d{1,20}-\d{1,20})(?:_(\d{1,20}-\d{1,20})_(\d{1,20}-\d{1,20}))?", re.ASCII)
_MAX_ID = 2**64
_NONE = "0-0"
#: Order of the entries of one millisecond: a turn's message comes before its event.
_RANKS: Mapping[Stream, int] = {"dialog": 0, "journal": 1, "events": 2}


class UpdateCursor(NamedTuple):
    """A position in the streams of a session: ids of the newest entries that were read."""

    dialog: str = _NONE
    events: str = _NONE
    journal: str = _NONE

    @classmethod
    def read(cls, text: str, *, field: str) -> Self:
        """Return the cursor of a text, or of the id of a message: after it, and not before its time.

        Raises:
            InvalidInput: It is neither; the error names `field`.
        """
        match = _CURSOR.fullmatch(text)
        ids = [part for part in match.groups() if part is not None] if match else []
        if not ids or any(number >= _MAX_ID for part in ids for number in entry_key(part)):
            raise InvalidInput(field, text, "must be the `id` of an event of this session")
        if len(ids) > 1:
            return cls(*ids)
        before = f"{max(0, entry_key(ids[0])[0] - 1)}-{_MAX_ID - 1}"
        return cls(ids[0], before, before)

    def __str__(self) -> str:
        return "_".join(self)

    def after(self, stream: Stream, entry_id: str) -> Self:
        """Return the cursor after an entry."""
        return self._replace(**{stream: entry_id})


class StoredUpdate(NamedTuple):
    """One stored entry."""

    stream: Stream
    entry_id: str
    #: JSON.
    text: str
    #: Position after it.
    cursor: UpdateCursor


def merge_entries(batches: Mapping[Stream, Iterable[Entry]], cursor: UpdateCursor) -> Iterator[StoredUpdate]:
    """Yield entries of several streams in the order of their time; the end of the session is the last one."""
    for _, _, _, stream, entry_id, text in merge(*(_keyed(stream, batches[stream]) for stream in batches)):
        cursor = cursor.after(stream, entry_id)
        yield StoredUpdate(stream, entry_id, text, cursor)


def _keyed(
    stream: Stream, entries: Iterable[Entry]
) -> Iterator[tuple[tuple[bool, int], int, int, Stream, str, str]]:
    for entry_id, text in entries:
        at_ms, counter = entry_key(entry_id)
        yield (
            (stream == "events" and END_MARK in text, at_ms),
            _RANKS[stream],
            counter,
            stream,
            entry_id,
            text,
        )


# Followers of a session get the same entries: each is read once.
@cache_texts(maxsize=4_096)
def _token_of_message(entry_id: str, text: str, session_id: str) -> str | None:
    return read_message((entry_id, text), session_id).token_id


@cache_texts(maxsize=4_096)
def _read_event(text: str, session_id: str) -> MapEvent:
    return read_stored(MapEvent, text, session_id=session_id, part="events")


@cache_texts(maxsize=4_096)
def _read_delta(text: str, session_id: str) -> Delta:
    return read_stored(Delta, text, session_id=session_id, part="deltas")


class UpdateReader:
    """Cursors of one follower of a live session, and the turns whose output is read. It does no I/O.

    Args:
        session_id: The session.
        after: Position to start after.
        running: Tokens of the turns that run at that time or later.
        deltas: Whether the live output is read, too.
    """

    def __init__(
        self, session_id: str, after: UpdateCursor, *, running: Iterable[str] = (), deltas: bool = True
    ) -> None:
        self.has_ended = False
        self._has_deltas = deltas
        self.cursor = after
        self._session_id = session_id
        self._deltas: str | None = None
        self._grants = OpenGrants(running)
        #: Tokens of messages whose turn has not completed yet.
        self._written: set[str] = set()

    def positions(self) -> dict[str, str]:
        """Return the streams to read: key -> position."""
        # In this order: a cluster reads them one after the other, and the messages of an event must not be missed.
        at = {"events": self.cursor.events, "journal": self.cursor.journal, "dialog": self.cursor.dialog}
        if self._deltas is not None:
            at["deltas"] = self._deltas
        return {session_key(self._session_id, stream): position for stream, position in at.items()}

    def take(self, batches: Mapping[str, list[Entry]]) -> Iterator[StoredUpdate | Delta]:
        """Yield the entries of a read, then the output of running turns."""
        stored = {stream: batches.get(session_key(self._session_id, stream), []) for stream in _RANKS}
        full = [entry_key(entries[-1][0])[0] for entries in stored.values() if len(entries) >= PAGE]
        # What is later than the last entry of a full page is read again, so that all is in the order of its time. So is
        # the end: entries of the same millisecond may be on the next page.
        until_ms = min(full, default=_MAX_ID)
        early = {
            stream: [
                (entry_id, text)
                for entry_id, text in entries
                if entry_key(entry_id)[0] <= until_ms and not (full and END_MARK in text)
            ]
            for stream, entries in stored.items()
        }
        for update in merge_entries(early, self.cursor):
            self.cursor = update.cursor
            yield update
            yield from self._process(update)
        live = batches.get(session_key(self._session_id, "deltas"), [])
        if live:
            self._deltas = live[-1][0]
        deltas = (_read_delta(text, self._session_id) for _, text in live)
        yield from self._grants.filter_deltas(
            delta for delta in deltas if delta.token_id not in self._written
        )
        if self._has_deltas and not full and self._deltas is None:
            # The events show which turns are running, so output is read only after all past events.
            self._deltas = "0"

    def _process(self, update: StoredUpdate) -> Iterator[Delta]:
        """Record which turns run; a grant that ended without a message retracts its output."""
        if update.stream == "dialog":
            if token := _token_of_message(update.entry_id, update.text, self._session_id):
                self._written.add(token)
        elif update.stream == "events":
            event = _read_event(update.text, self._session_id)
            token = token_of(event)
            yield from self._grants.process(event, is_written=token in self._written)
            if event.event_type == MAPEventType.TURN_COMPLETED and token is not None:
                self._written.discard(token)
            self.has_ended = self.has_ended or event.event_type == MAPEventType.SESSION_COMPLETED
