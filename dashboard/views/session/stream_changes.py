"""Entries of a session's streams as the changes that its page follows. Pure.

A change has one of `message`, `delta`, or `event` with `change` (of the timeline).
"""

from __future__ import annotations

from typing import TypeAlias

from ....models.errors import CorruptSession
from ....models.protocol.base import Event
from ....models.protocol.dialog import Message
from ....models.protocol.events import MapEvent
from ....models.text.redact import json_text
from ....models.turns.streaming import Delta
from ....state.redis.readers import read_stored
from .bounded_cache import BoundedCache
from .pages import EventEntry
from .transcript import Json, change_json, delta_json, message_json

#: Maximum bytes of changes that a process remembers: all readers of a session get the same ones.
_MOST_REMEMBERED = 16_000_000
#: Bytes of a change besides its texts.
_ENTRY_BYTES = 500

_Key: TypeAlias = tuple[str, str, str, str]


def stream_change(session_id: str, part: str, position: str, text: str) -> str | None:
    """Return a change as JSON text; None: the entry is not valid, and is left out.

    Args:
        session_id: The session.
        part: `dialog`, `deltas`, `events` or `journal`.
        position: Id of the stream entry.
        text: The record as JSON.
    """
    return _remembered.get(
        (session_id, part, position, text), lambda: _make_change(session_id, part, position, text)
    )


def _size(key: _Key, change: str | None) -> int:
    return _ENTRY_BYTES + 2 * (len(key[3]) + len(change or ""))


_remembered: BoundedCache[_Key, str | None] = BoundedCache(_MOST_REMEMBERED, _size)


def _make_change(session_id: str, part: str, position: str, text: str) -> str | None:
    try:
        return json_text(_change(session_id, part, position, text))
    except CorruptSession:
        return None


def _change(session_id: str, part: str, position: str, text: str) -> Json:
    match part:
        case "dialog":
            message = read_stored(Message, text, session_id=session_id, part=part)
            return {"message": message_json(position, message)}
        case "deltas":
            return {"delta": delta_json(read_stored(Delta, text, session_id=session_id, part=part))}
        case "events":
            event = read_stored(MapEvent, text, session_id=session_id, part=part)
            return change_json(EventEntry(position, "events", event))
        case _:
            note = read_stored(Event, text, session_id=session_id, part=part)
            return change_json(EventEntry(position, "journal", note))
