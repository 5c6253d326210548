"""Who spent what, from the events of a session. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

from .events import MapEvent, MAPEventType
from .turn import Usage


def usage_by_participant(events: Iterable[MapEvent]) -> dict[str, Usage]:
    """What each participant's closed turns spent, by id, in the order of their first turns."""
    spent: dict[str, Usage] = {}
    for event in events:
        payload = event.payload or {}
        name, result = payload.get("participant_id"), payload.get("result")
        if event.event_type is not MAPEventType.TURN_COMPLETED or not isinstance(result, dict):
            continue
        if isinstance(name, str):
            spent[name] = spent.get(name, Usage()) + _usage(result.get("usage"))
    return spent


def _usage(told: JsonValue) -> Usage:
    """Attempts that were given back have spent nothing that is known."""
    return Usage.model_validate(told) if isinstance(told, dict) else Usage()
