"""Who spent what, from the events of a session. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

from .events import MapEvent, MAPEventType
from .meta import Event
from .turn import Usage

#: The event of what an attempt has spent that was told when its turn was over.
SPENT_LATE = "turn.spent"


def usage_by_participant(events: Iterable[MapEvent], journal: Iterable[Event] = ()) -> dict[str, Usage]:
    """What each participant has spent, attempts that came to nothing included, by id, in the order of their first turns."""
    told = [
        *(event.payload for event in events if event.event_type is MAPEventType.TURN_COMPLETED),
        *(event.data for event in journal if event.event_type == SPENT_LATE),
    ]
    spent: dict[str, Usage] = {}
    for payload in filter(None, told):
        name, result = payload.get("participant_id"), payload.get("result", payload)
        if isinstance(name, str) and isinstance(result, dict):
            spent[name] = spent.get(name, Usage()) + _usage(result.get("usage"))
    return spent


def _usage(told: JsonValue) -> Usage:
    """Nothing is told of an attempt that has spent nothing that is known."""
    return Usage.model_validate(told) if isinstance(told, dict) else Usage()
