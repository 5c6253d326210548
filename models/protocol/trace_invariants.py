"""The named rules about what happened in a session: its events, and the messages beside them.

Payloads are read as they come, so that the events of any runtime can be checked.

Source: Collab module, section 5.1 (`map_exclusive_write`); map-invariants.yaml, scope `trace`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from ..errors import InvariantViolation
from .dialog import Message
from .events import MapEvent, MAPEventType

TraceViolations = Iterator[InvariantViolation]


def map_turn_completion_matches_dispatch(events: Sequence[MapEvent]) -> TraceViolations:
    """Return every dispatch has its completion in the same session by the same role, and the other way round.

    Where both sides name their token, the tokens agree: a turn that was granted twice completes twice.
    """
    dispatched = [_turn(e) for e in events if e.event_type is MAPEventType.TURN_DISPATCHED]
    completed = [_turn(e) for e in events if e.event_type is MAPEventType.TURN_COMPLETED]
    yield from _unmatched(dispatched, completed, "was dispatched and must be completed")
    yield from _unmatched(completed, dispatched, "was completed and must have been dispatched")


def map_broadcast_has_receivers(events: Sequence[MapEvent]) -> TraceViolations:
    """Return a session with a broadcast has at least one that received it."""
    received = {e.session_id for e in events if e.event_type is MAPEventType.BROADCAST_RECEIVED}
    sent = dict.fromkeys(e.session_id for e in events if e.event_type is MAPEventType.BROADCAST_SENT)
    for session_id in sent:
        if session_id not in received:
            rule = "has a MAPBroadcastSent and must have a MAPBroadcastReceived"
            yield _trace_violation("map_broadcast_has_receivers", "session_id", session_id, rule)


def map_exclusive_write(messages: Sequence[Message], events: Sequence[MapEvent]) -> TraceViolations:
    """Check that only the holder of the turn writes: each message carries the token last granted for its turn.

    `messages` and `events` are those of one session. Messages said outside of a turn, such as
    the one that opens a dialog, need no grant.
    """
    grants = {
        _payload_field(event, "turn_number"): _grant(event)
        for event in events
        if event.event_type is MAPEventType.TURN_DISPATCHED
    }
    for index, message in enumerate(messages):
        if message.turn_number is None:
            continue
        field, grant = f"messages[{index}]", grants.get(message.turn_number)
        if grant is None or grant.token_id != message.token_id:
            rule = f"must have the last token granted for turn {message.turn_number}"
            yield _trace_violation("map_exclusive_write", field, message.token_id, rule)
        elif grant.participant_id not in (None, message.speaker):
            rule = f"must be from {grant.participant_id!r}, the owner of turn {message.turn_number}"
            yield _trace_violation("map_exclusive_write", field, message.speaker, rule)


class _Turn(NamedTuple):
    session_id: str
    role_id: JsonValue
    number: JsonValue
    token_id: JsonValue

    def key(self) -> Hashable:
        return self.session_id, str(self.role_id).lower(), str(self.number)


class _Grant(NamedTuple):
    token_id: JsonValue
    participant_id: JsonValue


def _payload_field(event: MapEvent, name: str) -> JsonValue:
    return (event.payload or {}).get(name)


def _turn(event: MapEvent) -> _Turn:
    role_id, number, token_id = (
        _payload_field(event, name) for name in ("role_id", "turn_number", "token_id")
    )
    return _Turn(event.session_id, role_id, number, token_id)


def _grant(event: MapEvent) -> _Grant:
    return _Grant(_payload_field(event, "token_id"), _payload_field(event, "participant_id"))


def _unmatched(turns: Sequence[_Turn], others: Sequence[_Turn], rule: str) -> TraceViolations:
    tokens: dict[Hashable, set[str | None]] = {}
    for other in others:
        tokens.setdefault(other.key(), set()).add(_text(other.token_id))
    for turn in turns:
        matching = tokens.get(turn.key(), set())
        is_matched = matching and (
            turn.token_id is None or None in matching or _text(turn.token_id) in matching
        )
        if not is_matched:
            value = f"session {turn.session_id}, role {turn.role_id}"
            yield _trace_violation("map_turn_completion_matches_dispatch", f"turn {turn.number}", value, rule)


def _text(value: JsonValue) -> str | None:
    return None if value is None else str(value)


def _trace_violation(name: str, field: str, value: object, rule: str) -> InvariantViolation:
    return InvariantViolation(name, field=field, value=value, rule=rule)
