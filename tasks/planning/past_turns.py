"""The closed turns of a session, as its events record them.

Events record how each turn closed. For a result with more than its outcome (a decision, a hand-off, new items, marks),
the event also has that part, as `record`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...models.protocol.events import MapEvent, MAPEventType
from ...models.sessions.plan import BoardEntry
from ...models.text.json_text import dump_json, parse_json
from ...models.turns.turn import OutcomeKind, TurnResult

#: Fields of a result that its event has, or that the plan has.
_KNOWN = {"number", "participant", "kind", "usage", "left_out", "error", "item", "remember"}
_KINDS = {*OutcomeKind}


def format_record(result: TurnResult) -> str:
    """Return the part of a result that only planners and stop conditions need, as JSON; empty: no such part."""
    text = result.model_dump_json(exclude=_KNOWN, exclude_defaults=True)
    return "" if text == "{}" else text


@dataclass(frozen=True, slots=True)
class PastTurns:
    """The turns of a session, as its events record them."""

    #: Participants of the turns that began, by number.
    speakers: Mapping[int, str]
    #: Milliseconds since the epoch at which each turn began first.
    began_ms: Mapping[int, int]
    #: Results in the order in which the turns closed, without their items.
    closed: tuple[TurnResult, ...]
    #: Id of the work item of a turn, by number, as far as it is known.
    items: Mapping[int, str] = field(default_factory=dict)
    #: Number of turns that had closed when the last attempt of a turn began, by number.
    closed_before: Mapping[int, int] = field(default_factory=dict)


def read_past_turns(events: Iterable[tuple[int, MapEvent]], board: Iterable[BoardEntry] = ()) -> PastTurns:
    """Return the turns of a session from its events, with their times in milliseconds, and from its board.

    Raises:
        ValidationError: A record is not valid.
    """
    speakers: dict[int, str] = {}
    began: dict[int, int] = {}
    closed: dict[int, TurnResult] = {}
    closed_before: dict[int, int] = {}
    for at_ms, event in events:
        payload: Mapping[str, Any] = event.payload or {}
        if event.event_type is MAPEventType.TURN_DISPATCHED:
            speakers[payload["turn_number"]] = payload["participant_id"]
            began.setdefault(payload["turn_number"], at_ms)
            closed_before[payload["turn_number"]] = len(closed)
        elif (result := written_result(event)) is not None:
            closed[payload["turn_number"]] = _result(payload, result)
    items = {it.turn_number: it.item.item_id for it in board if it.turn_number is not None}
    return PastTurns(speakers, began, tuple(closed.values()), items, closed_before)


def written_result(event: MapEvent) -> Mapping[str, Any] | None:
    """Return how a turn was written, if this is the event of that; None: of an attempt that is run again, or another."""
    if event.event_type is not MAPEventType.TURN_COMPLETED:
        return None
    payload: Mapping[str, Any] = event.payload or {}
    result: Mapping[str, Any] = payload.get("result") or {}
    return result if result.get("outcome") in _KINDS and not result.get("retried") else None


def _result(payload: Mapping[str, Any], result: Mapping[str, Any]) -> TurnResult:
    data = {
        **parse_json(result.get("record") or "{}"),
        "number": payload["turn_number"],
        "participant": payload["participant_id"],
        "kind": result["outcome"],
        "error": result.get("error"),
    }
    return TurnResult.model_validate_json(dump_json(data))
