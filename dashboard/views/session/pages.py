"""Pages of a session's streams, newest first, with a cursor to older entries.

The same for a live and an archived session, because both keep the ids of the stream entries.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Literal

from ....jobs.collab import CollabJob
from ....jobs.reading import streams_of
from ....models.errors import InvalidInput
from ....models.protocol.base import Event
from ....models.protocol.dialog import Message
from ....models.protocol.events import MapEvent
from ....models.text.ids import entry_key
from ....state.redis.readers import read_stored

EventStream = Literal["events", "journal"]

#: Maximum number of entries of a page.
MAX_ENTRIES = 500
_ENTRY_ID = re.compile(r"[0-9]{1,15}-[0-9]{1,15}")
#: Positions of both event streams, such as `1700000000000-0_1700000000003-1`.
_BETWEEN = "_"


@dataclass(frozen=True, slots=True)
class EventEntry:
    """An event of a session, with the id of its stream entry."""

    entry_id: str
    stream: EventStream
    event: MapEvent | Event


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events, newest first."""

    entries: tuple[EventEntry, ...]
    #: Cursor of the next, older page; None: there are no older events.
    before: str | None


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Messages with the ids of their stream entries, newest first."""

    messages: tuple[tuple[str, Message], ...]
    before: str | None


def check_count(count: int) -> int:
    """Return the number of entries of a page.

    Raises:
        InvalidInput: It is out of range.
    """
    if not 1 <= count <= MAX_ENTRIES:
        raise InvalidInput("count", count, f"must be from 1 to {MAX_ENTRIES}")
    return count


def check_entry_id(text: str) -> str:
    """Return the id of a stream entry.

    Raises:
        InvalidInput: The text is not an entry id.
    """
    # Redis refuses to read what is before 0-0, and has no entry of this id.
    if _ENTRY_ID.fullmatch(text) is None or entry_key(text) == (0, 0):
        raise InvalidInput("cursor", text, "must be a cursor from a previous page")
    return text


def read_messages(job: CollabJob, *, before: str | None = None, count: int = 50) -> MessagePage:
    """Return a page of the dialog.

    Args:
        job: The session.
        before: Cursor of the page; None: the newest messages.
        count: Maximum number of messages.

    Raises:
        InvalidInput: The cursor or the count is not valid.
    """
    cursor = None if before is None else check_entry_id(before)
    wanted = check_count(count)
    entries = streams_of(job).newest_page(job.id, "dialog", before=cursor, count=wanted + 1)
    messages = tuple((entry_id, _message(job, text)) for entry_id, text in entries[:wanted])
    return MessagePage(messages, messages[-1][0] if len(entries) > wanted else None)


def read_message(job: CollabJob, entry_id: str) -> Message | None:
    """Return one message by the id of its entry; None: there is none. Raises InvalidInput for another text."""
    at_ms, counter = entry_key(check_entry_id(entry_id))
    after = f"{at_ms}-{counter + 1}"
    entries = streams_of(job).newest_page(job.id, "dialog", before=after, count=1)
    return next((_message(job, text) for stored_id, text in entries if stored_id == entry_id), None)


def read_events(job: CollabJob, *, before: str | None = None, count: int = 100) -> EventPage:
    """Return a page of the MAP events and the journal, in the order of their time.

    Args:
        job: The session.
        before: Cursor of the page; None: the newest events.
        count: Maximum number of events.

    Raises:
        InvalidInput: The cursor or the count is not valid.
    """
    at = _positions(before)
    wanted = check_count(count)
    merged = merge(*(_newest(job, stream, at[stream], wanted + 1) for stream in at), key=_place, reverse=True)
    entries = tuple(islice(merged, wanted + 1))
    page = entries[:wanted]
    for entry in page:
        at[entry.stream] = entry.entry_id
    return EventPage(page, _cursor(at) if len(entries) > wanted else None)


def _newest(job: CollabJob, stream: EventStream, before: str | None, count: int) -> list[EventEntry]:
    entries = streams_of(job).newest_page(job.id, stream, before=before, count=count)
    return [EventEntry(entry_id, stream, _event(job, stream, text)) for entry_id, text in entries]


def _event(job: CollabJob, stream: EventStream, text: str) -> MapEvent | Event:
    if stream == "events":
        return read_stored(MapEvent, text, session_id=job.id, part=stream)
    return read_stored(Event, text, session_id=job.id, part=stream)


def _place(entry: EventEntry) -> tuple[int, int, str]:
    return *entry_key(entry.entry_id), entry.stream


def _positions(before: str | None) -> dict[EventStream, str | None]:
    if before is None:
        return {"events": None, "journal": None}
    events, _, journal = before.partition(_BETWEEN)
    return {"events": _position(events), "journal": _position(journal)}


def _position(text: str) -> str | None:
    return check_entry_id(text) if text else None


def _cursor(at: dict[EventStream, str | None]) -> str:
    return _BETWEEN.join(entry_id or "" for entry_id in at.values())


def _message(job: CollabJob, text: str) -> Message:
    return read_stored(Message, text, session_id=job.id, part="dialog")
