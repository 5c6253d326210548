"""The newest failed turn of a session, from its MAP events. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypedDict

from ..models.text.ids import entry_key
from ..state.redis.readers import Entry

#: Newest events in which the last error is searched.
NEWEST_EVENTS = 20


class LastError(TypedDict):
    """The newest failed turn of a session."""

    at_ms: int
    turn: int | None
    participant: str | None
    text: str


def newest_error(events: Iterable[Entry]) -> LastError | None:
    """Return the failure of the first event that records one; None: none does.

    Args:
        events: Entries of the stream of events, newest first.
    """
    for position, text in events:
        if (error := error_of_event(text, entry_key(position)[0])) is not None:
            return error
    return None


def error_of_event(text: str, at_ms: int) -> LastError | None:
    """Return the failure that a MAP event records; None: it records none."""
    if '"MAPTurnCompleted"' not in text:
        return None
    try:
        payload = json.loads(text).get("payload") or {}
        result = payload.get("result") or {}
        message = str(result.get("error") or "failed")
        has_failed = result.get("outcome") == "failed" or bool(result.get("error"))
    except (ValueError, AttributeError):
        return None
    if not has_failed:
        return None
    turn = payload.get("turn_number")
    return LastError(
        at_ms=at_ms,
        turn=turn if isinstance(turn, int) else None,
        participant=str(payload.get("participant_id") or "") or None,
        text=message,
    )
