"""Parts of a transcript that a page asks for: the turns around one, or those with a text; and the events. Pure, but for reads.

Every text is visible and bounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import JsonValue

from ....jobs.collab import CollabJob
from ....models.attachments import Attachment
from ....models.protocol.dialog import Message
from ....models.protocol.events import MapEvent
from ....models.text.ids import entry_key
from ....models.text.redact import without_password
from ..visible import make_fields_visible, make_visible
from .markdown import render_markdown
from .pages import MAX_ENTRIES, EventEntry, EventPage, MessagePage, read_events, read_messages
from .params import SessionParams, Times
from .timeline import build_timeline, read_change
from .turn_entries import TurnEntry, TurnFacts, build_entries

Json = dict[str, JsonValue]

#: Messages before and after a turn that is shown.
BEFORE, AFTER = 20, 80
#: Maximum number of entries with a text that was searched, and of messages in which it is searched.
MAX_HITS, MAX_SEARCHED = 100, 20_000
#: Milliseconds after a message in which the events of its turn are read.
_AFTER_MS = 1_000
#: Maximum characters of an event's data.
MAX_DATA = 4_000
#: Fields of events that grant something, or would if their session still ran.
_TOKENS = frozenset({"token_id", "refused_token_id", "reply_token", "token"})


@dataclass(frozen=True, slots=True)
class Transcript:
    """A part of a transcript that does not change."""

    entries: tuple[TurnEntry, ...]
    #: Id of the stream entry of its first message; empty: there are no messages before it.
    earlier: str = ""
    #: Whether there may be turns after them.
    has_later: bool = False
    #: Number of messages that were read.
    searched: int = 0
    #: What was done around them, as `build_timeline` returns it; None: it was not read.
    timeline: Mapping[str, Any] | None = None


def read_part(job: CollabJob, params: SessionParams, times: Times) -> Transcript:
    """Return a part of a transcript: the turns around one, or the newest messages, of those that fit. It blocks.

    Args:
        job: The session.
        params: The part: `turn` or `before`, and the filters. Without that turn, the nearest earlier ones are shown.
        times: Its times.

    Raises:
        InvalidInput: `before` is not valid.
    """
    later: list[tuple[str, Message]] = []
    earlier: list[tuple[str, Message]] = []
    searched, is_reached, limit = 0, not params.turn, BEFORE if params.turn else MAX_HITS
    for entry in _newest_first(job, params, times):
        searched += 1
        if not _fits(entry[1], params):
            continue
        number = entry[1].turn_number
        # Turns side by side are not in the order of their numbers.
        if is_reached and number != params.turn:
            earlier.append(entry)
        else:
            later.append(entry)
            is_reached |= number is not None and number <= params.turn
        if len(earlier) > limit:
            break
    # The newest first: those next to the turn are at the end.
    shown = [*reversed(earlier[:limit]), *reversed(later[-AFTER:])]
    end_ms = entry_key(shown[-1][0])[0] + _AFTER_MS if shown else times.until_ms
    timeline = _timeline(job, end_ms) if end_ms else None
    facts = TurnFacts(timeline["spans"], timeline["waits"]) if timeline else TurnFacts(())
    entries = build_entries(shown, facts) if shown else []
    is_text = bool(params.find or params.who)
    return Transcript(
        tuple(entry for entry in entries if entry.texts or not is_text),
        shown[0][0] if len(earlier) > limit else "",
        len(later) > AFTER or bool(params.before),
        searched,
        timeline,
    )


def _fits(message: Message, params: SessionParams) -> bool:
    is_wanted = not params.who or message.author == params.who
    return is_wanted and params.find.casefold() in message.content.casefold()


def _timeline(job: CollabJob, end_ms: int) -> dict[str, Any]:
    """Return the timeline of the newest events before a time."""
    end = f"{end_ms}-0"
    events = read_events(job, before=f"{end}_{end}", count=MAX_ENTRIES)
    timeline = build_timeline(read_change(entry.entry_id, entry.event) for entry in events.entries)
    return cast("dict[str, Any]", timeline)


def _newest_first(job: CollabJob, params: SessionParams, times: Times) -> Iterator[tuple[str, Message]]:
    """Yield the messages of the time and before the cursor, page by page, at most `MAX_SEARCHED`."""
    before: str | None = params.before or None
    if times.until_ms is not None and before is None:
        before = f"{times.until_ms + 1}-0"
    for _ in range(MAX_SEARCHED // MAX_ENTRIES):
        page = read_messages(job, before=before, count=MAX_ENTRIES)
        for entry in page.messages:
            if times.since_ms is not None and entry_key(entry[0])[0] < times.since_ms:
                return
            yield entry
        if (before := page.before) is None:
            return


def message_json(entry_id: str, message: Message) -> Json:
    """Return a message of the transcript.

    Args:
        entry_id: Id of its stream entry, which is also a cursor.
        message: The message.
    """
    rendered = render_markdown(message.content)
    return {
        "id": entry_id,
        "at_ms": entry_key(entry_id)[0],
        "turn": message.turn_number,
        "participant": make_visible(message.author or ""),
        "is_history": message.former_speaker is not None,
        "role": message.role.value,
        "characters": len(message.content),
        "is_cut": rendered.is_cut,
        "cut_line": message.cut_line,
        "html": rendered.html,
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


def event_json(entry: EventEntry) -> Json:
    """Return an event for the list of events, without the tokens in it."""
    event = entry.event
    data = (event.payload if isinstance(event, MapEvent) else event.data) or {}
    return {
        "id": f"{entry.stream}:{entry.entry_id}",
        "at_ms": entry_key(entry.entry_id)[0],
        "type": make_visible(event.event_type),
        "participant": _text(data, "participant_id"),
        "turn": _number(data, "turn_number"),
        "data": _data_text(data),
    }


def events_json(page: EventPage) -> Json:
    """Return a page of events, newest first, with the cursor to older events."""
    return {"events": [event_json(entry) for entry in page.entries], "before": page.before}


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
