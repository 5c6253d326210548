"""Messages, live output and events as the session page shows them. Pure.

Every text is visible and bounded; a longer message is shown cut, and whole as plain text on request.

A reader that follows a session gets changes: each has one of `message`, `delta`, or `event` with `change` (of the
timeline).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias

from pydantic import JsonValue

from ....models.attachments import Attachment
from ....models.errors import CorruptSession
from ....models.protocol.base import Event
from ....models.protocol.dialog import Message
from ....models.protocol.events import MapEvent
from ....models.text.redact import json_text, without_password
from ....models.turns.streaming import Delta
from ....state.redis.readers import read_stored
from ..visible import make_fields_visible, make_visible
from .bounded_cache import BoundedCache
from .markdown import Node, parse_markdown
from .pages import EventEntry, EventPage, MessagePage
from .timeline import build_timeline, entry_ms, read_change

Json = dict[str, JsonValue]

#: Maximum characters of a message that a page renders. The cost of hostile Markdown grows faster than its length.
MAX_RENDERED = 8_000
#: Maximum characters of an event's data.
MAX_DATA = 4_000
#: Maximum bytes of rendered messages that a process remembers, and what an entry and a node take besides their texts.
_MAX_REMEMBERED, _ENTRY_BYTES, _NODE_BYTES = 16_000_000, 400, 500
#: Fields of events that grant something, or would if their session still ran.
_TOKENS = frozenset({"token_id", "refused_token_id", "reply_token", "token"})


def message_json(entry_id: str, message: Message) -> Json:
    """Return a message of the transcript.

    Args:
        entry_id: Id of its stream entry, which is also a cursor.
        message: The message.
    """
    nodes, is_cut = _render(message.content)
    return {
        "id": entry_id,
        "at_ms": entry_ms(entry_id),
        "turn": message.turn_number,
        "participant": make_visible(message.author or ""),
        "is_history": message.former_speaker is not None,
        "role": message.role.value,
        "characters": len(message.content),
        "is_cut": is_cut,
        "cut_line": message.cut_line,
        "nodes": nodes,
        "attachments": [_attachment_json(attachment) for attachment in message.attachments],
    }


def _attachment_json(attachment: Attachment) -> Json:
    data: Json = attachment.model_dump(mode="json")
    return {**data, "name": make_visible(attachment.name)}


def messages_json(page: MessagePage) -> Json:
    """Return a page of the transcript, oldest message first, with the cursor to older messages."""
    shown: list[JsonValue] = [
        message_json(entry_id, message) for entry_id, message in reversed(page.messages)
    ]
    return {"messages": shown, "before": page.before}


def _render(content: str) -> tuple[list[Node], bool]:
    """Return the nodes of a message, and whether the page offers its whole text.

    Invisible characters are longer when they are visible, so the text is cut again.
    """
    visible = make_visible(content[:MAX_RENDERED])
    text = visible[:MAX_RENDERED]
    nodes = _rendered.get(text, lambda: parse_markdown(text))
    if nodes is None:
        return [{"tag": "pre", "children": [text]}], True
    return nodes, max(len(content), len(visible)) > MAX_RENDERED


def _size(text: str, nodes: list[Node] | None) -> int:
    return _ENTRY_BYTES + 2 * len(text) + sum(map(_node_size, nodes or ()))


def _node_size(node: Node) -> int:
    children = node["children"] if isinstance(node, dict) else None
    return _NODE_BYTES + sum(map(_node_size, children)) if isinstance(children, list) else _NODE_BYTES


#: Nodes of texts: readers of one session get the same messages.
_rendered: BoundedCache[str, list[Node] | None] = BoundedCache(_MAX_REMEMBERED, _size)


def delta_json(delta: Delta) -> Json:
    """Return a piece of live output.

    `offset` and `length` count the characters as the agent wrote them; `text` may be longer, as it is visible.
    """
    return {
        "turn": delta.turn_number,
        "attempt": delta.attempt,
        "participant": make_visible(delta.participant_id),
        "offset": delta.offset,
        "length": len(delta.text),
        "text": make_visible(delta.text),
    }


def event_json(entry: EventEntry) -> Json:
    """Return an event for the list of events, without the tokens in it."""
    event = entry.event
    data = (event.payload if isinstance(event, MapEvent) else event.data) or {}
    return {
        "id": f"{entry.stream}:{entry.entry_id}",
        "at_ms": entry_ms(entry.entry_id),
        "type": make_visible(event.event_type),
        "participant": _text(data, "participant_id"),
        "turn": _number(data, "turn_number"),
        "data": _data_text(data),
    }


def events_json(page: EventPage) -> Json:
    """Return a page of events, newest first, with the cursor to older events."""
    return {"events": [event_json(entry) for entry in page.entries], "before": page.before}


def timeline_json(page: EventPage) -> Json:
    """Return the timeline of a page of events, with the cursor to older ones."""
    changes = [read_change(entry.entry_id, entry.event) for entry in page.entries]
    times = [change.at_ms for change in changes]
    return {
        **make_fields_visible(build_timeline(changes)),
        "from_ms": min(times, default=None),
        "until_ms": max(times, default=None),
        "before": page.before,
    }


def change_json(entry: EventEntry) -> Json:
    """Return an event and what it changes in the timeline, for readers that follow a session."""
    change = make_fields_visible(read_change(entry.entry_id, entry.event).to_json())
    return {"event": event_json(entry), "change": change}


def without_tokens(data: Mapping[str, JsonValue]) -> Json:
    """Return the data of an event without the tokens in it."""
    return {name: value for name, value in data.items() if name not in _TOKENS}


def _data_text(data: Mapping[str, JsonValue]) -> str:
    """Return the data of an event as JSON text."""
    shown = without_tokens(data)
    text = without_password(json.dumps(shown, ensure_ascii=False)) if shown else ""
    cut = text if len(text) <= MAX_DATA else f"{text[: MAX_DATA - 1]}…"
    return make_visible(cut)


def _text(data: Mapping[str, JsonValue], name: str) -> str | None:
    value = data.get(name)
    return make_visible(value) if isinstance(value, str) else None


def _number(data: Mapping[str, JsonValue], name: str) -> int | None:
    value = data.get(name)
    return value if isinstance(value, int) else None


#: Maximum bytes of changes that a process remembers: all readers of a session get the same ones.
_MAX_CHANGE_BYTES = 16_000_000
#: Bytes of a change besides its texts.
_CHANGE_BYTES = 500

_ChangeKey: TypeAlias = tuple[str, str, str, str]


def stream_change(session_id: str, part: str, position: str, text: str) -> str | None:
    """Return a change as JSON text; None: the entry is not valid, and is left out.

    Args:
        session_id: The session.
        part: `dialog`, `deltas`, `events` or `journal`.
        position: Id of the stream entry.
        text: The record as JSON.
    """
    return _changes.get(
        (session_id, part, position, text), lambda: _make_change(session_id, part, position, text)
    )


def _change_size(key: _ChangeKey, change: str | None) -> int:
    return _CHANGE_BYTES + 2 * (len(key[3]) + len(change or ""))


_changes: BoundedCache[_ChangeKey, str | None] = BoundedCache(_MAX_CHANGE_BYTES, _change_size)


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
