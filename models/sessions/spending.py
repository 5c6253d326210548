"""Usage of each participant, from the events of a session. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

from ..protocol.events import MapEvent, MAPEventType
from ..protocol.meta import Event
from ..turns.turn import Usage

#: Event with the usage of an attempt that was reported after the end of its turn.
LATE_USAGE_EVENT = "turn.spent"


def usage_by_participant(events: Iterable[MapEvent], journal: Iterable[Event] = ()) -> dict[str, Usage]:
    """Return the usage of each participant by id, failed attempts included.

    The order is that of their first turns.
    """
    told = [
        *(event.payload for event in events if event.event_type is MAPEventType.TURN_COMPLETED),
        *(event.data for event in journal if event.event_type == LATE_USAGE_EVENT),
    ]
    spent: dict[str, Usage] = {}
    for payload in filter(None, told):
        name, result = payload.get("participant_id"), payload.get("result", payload)
        if isinstance(name, str) and isinstance(result, dict):
            spent[name] = spent.get(name, Usage()) + _usage(result.get("usage"))
    return spent


def _usage(told: JsonValue) -> Usage:
    """Return no event is written for an attempt without known usage."""
    return Usage.model_validate(told) if isinstance(told, dict) else Usage()
