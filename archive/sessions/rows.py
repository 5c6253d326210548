"""Conversion between the data in Redis and the rows of the archive. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from ...models.protocol.collab import Collab
from ...models.protocol.dialog import Message
from ...models.protocol.events import MAPEventType
from ...models.sessions.archived import Documents, Entry, Snapshot
from ...models.text.ids import entry_key, ms_from_moment
from ...models.text.json_text import dump_json, parse_json
from ..engine import is_storable, storable_text

Row = dict[str, Any]

COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "requests", "cost_micros")
#: Fields of the session hash that are columns of `collab`: numbers, and texts.
_NUMBERS = ("closed", "rounds", "messages", *COUNTS, "updated_ms", "ended_ms")
_TEXTS = ("status", "reason", "detail")
#: Events that say how a grant began and ended.
_GRANT_EVENTS = (MAPEventType.TURN_DISPATCHED.value, MAPEventType.TURN_COMPLETED.value)
COLUMNS = (*_TEXTS, *_NUMBERS)


@lru_cache(maxsize=4)
def _read_collab(text: str) -> Collab:
    """Return the collab of a document, which several rows of a session need. Only for reading."""
    return Collab.model_validate_json(text)


def collab_row(documents: Documents, opened_ms: int) -> Row:
    """Return the columns of a session in `collab`."""
    collab = _read_collab(documents.collab)
    spec = parse_json(documents.spec)
    return {
        "collab_id": collab.collab_id,
        "opened_ms": opened_ms,
        "context_id": collab.context_id,
        "title": storable_text(collab.title),
        "mode": collab.mode.value,
        "tenant": spec.get("tenant"),
        "user_id": (spec.get("memory") or {}).get("user_id"),
        "collab": documents.collab,
        "spec": documents.spec,
    }


def has_more_rows(documents: Documents) -> bool:
    """Return whether a conversation gets the messages of the session, too, or its turns are recorded."""
    spec = parse_json(documents.spec)
    return spec.get("conversation") is not None or spec.get("record") is True


def is_recorded(documents: Documents) -> bool:
    """Return whether the turns of the session are recorded."""
    return parse_json(documents.spec).get("record") is True


def record_row(session: int, token: str, record: str) -> Row:
    """Return the row of a turn's record."""
    return {"session": session, "token_id": token, "body": zlib.compress(record.encode())}


def record_text(body: bytes) -> str:
    """Return the record of a row."""
    return zlib.decompress(body).decode()


def roster_rows(documents: Documents, session: int) -> tuple[list[Row], list[Row]]:
    """Return the rows of the participants and of the tags of a session."""
    collab = _read_collab(documents.collab)
    people = [
        {
            "session": session,
            "position": position,
            "participant_id": storable_text(participant.participant_id),
            "role_id": participant.role_id and storable_text(participant.role_id),
            "kind": participant.kind.value,
            "display_name": participant.display_name and storable_text(participant.display_name),
        }
        for position, participant in enumerate(collab.participants)
    ]
    tags = {storable_text(tag) for tag in collab.meta.tags or ()}
    return people, [{"session": session, "tag": tag} for tag in sorted(tags)]


def dialog_row(documents: Documents, session: int, *, session_id: str, status: str) -> Row:
    """Return the dialog of a session."""
    spec = parse_json(documents.spec)
    return {
        "session": session,
        "dialog_id": spec.get("dialog_id") or session_id,
        "thread_id": spec.get("thread_id"),
        "status": status,
    }


def progress_columns(fields: Mapping[str, str]) -> Row:
    """Return the columns of `collab` that are copies from the session hash."""
    numbers = {name: int(fields[name]) for name in _NUMBERS if name in fields}
    return numbers | {name: storable_text(fields[name]) for name in _TEXTS if name in fields}


def snapshot_row(snapshot: Snapshot) -> Row:
    """Return the row of a snapshot, as JSON."""
    hashes = {"fields": snapshot.fields, "turns": snapshot.turns, "board": snapshot.board}
    return {name: dump_json(value) for name, value in hashes.items()}


def message_row(session: int, entry: Entry) -> Row:
    """Return the row of a message; its text is stored once, unless SQL cannot store it unchanged."""
    entry_id, text = entry
    message = Message.model_validate_json(text)
    data: dict[str, Any] = parse_json(text)
    if is_storable(message.content):
        del data["content"]
    return {
        **_entry_columns(session, entry_id),
        "role": message.role.value,
        "speaker": message.speaker and storable_text(message.speaker),
        "turn": message.turn_number,
        "content": storable_text(message.content),
        "rest": dump_json(data),
    }


def message_entry(at_ms: int, seq: int, content: str, rest: str) -> Entry:
    """Return the original stream entry of a message; its fields may be in another order."""
    data = {"content": content, **parse_json(rest)}
    return f"{at_ms}-{seq}", dump_json(data)


def event_row(session: int, entry: Entry) -> Row:
    """Return the row of a MAP event or a journal event."""
    entry_id, text = entry
    return {**_entry_columns(session, entry_id), "event_type": parse_json(text)["event_type"], "body": text}


def turn_rows(session: int, events: Iterable[Entry]) -> tuple[list[Row], list[Row]]:
    """Return the grants that only began, and the grants that ended, from MAP events."""
    began: dict[str, Row] = {}
    ended: dict[str, Row] = {}
    for _, text in events:
        if not any(name in text for name in _GRANT_EVENTS):
            continue
        event = parse_json(text)
        payload = event.get("payload") or {}
        token = payload.get("token_id")
        if not token:
            continue
        if event["event_type"] == MAPEventType.TURN_DISPATCHED:
            began[token] = _grant_columns(session, payload) | {"began_ms": _ms(event["timestamp"])}
        elif event["event_type"] == MAPEventType.TURN_COMPLETED:
            before = began.pop(token, None) or ended.get(token)
            before = before or _grant_columns(session, payload) | {"began_ms": None}
            ended[token] = before | _result_columns(payload) | {"ended_ms": _ms(event["timestamp"])}
    return list(began.values()), list(ended.values())


def _grant_columns(session: int, payload: Mapping[str, Any]) -> Row:
    return {
        "session": session,
        "token_id": payload["token_id"],
        "number": payload["turn_number"],
        "attempt": payload.get("attempt", 0),
        "fence": payload.get("fence", 0),
        "participant": storable_text(payload.get("participant_id") or ""),
    }


def _result_columns(payload: Mapping[str, Any]) -> Row:
    result = payload.get("result") or {}
    usage = result.get("usage") or {}
    return {
        "outcome": result.get("outcome"),
        "error": storable_text(result.get("error") or "") or None,
        **{name: int(usage.get(name, 0)) for name in COUNTS},
    }


def _entry_columns(session: int, entry_id: str) -> Row:
    at_ms, seq = entry_key(entry_id)
    return {"session": session, "at_ms": at_ms, "seq": seq}


def _ms(timestamp: str) -> int:
    return ms_from_moment(datetime.fromisoformat(timestamp))
