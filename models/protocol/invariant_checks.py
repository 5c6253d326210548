"""Checks of the protocol's named rules for collabs, events and messages, one function each.

Payloads are read without validation, so that the events of any runtime can be checked.

Source: Collab module, section 5.1; map-invariants.yaml.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from ..errors import InvariantViolation
from ..text.ids import is_uuid4
from .collab import Collab, CollabMode, Participant, ParticipantKind, orchestrator_of
from .dialog import Message, Role
from .events import MapEvent, MAPEventType

Violations = Iterator[InvariantViolation]


def map_min_participants(collab: Collab) -> Violations:
    """Check for at least one participant."""
    if not collab.participants:
        yield _violation("map_min_participants", "participants", (), "must have at least 1 item")


def map_session_requires_participants(collab: Collab) -> Violations:
    """Check for at least one participant, under the name of map-invariants.yaml."""
    if not collab.participants:
        yield _violation("map_session_requires_participants", "participants", (), "must have at least 1 item")


def map_unique_participant_ids(collab: Collab) -> Violations:
    """Check that no two participants have the same id."""
    for participant_id, count in Counter(p.participant_id for p in collab.participants).items():
        if count > 1:
            rule = "must not contain a participant_id twice"
            yield _violation("map_unique_participant_ids", "participants", participant_id, rule)


def map_orchestrator_required(collab: Collab, orchestrator: str | None = None) -> Violations:
    """Check that an orchestrated session has exactly one orchestrator, by its role or by `orchestrator`."""
    if collab.mode != CollabMode.ORCHESTRATED:
        return
    try:
        orchestrator_of(collab, orchestrator)
    except InvariantViolation as violation:
        yield violation


def map_pair_exactly_two(collab: Collab) -> Violations:
    """Check that a session in the mode pair has exactly two participants."""
    count = len(collab.participants)
    if collab.mode == CollabMode.PAIR and count != 2:
        yield _violation(
            "map_pair_exactly_two", "participants", count, "must have exactly 2 items in mode 'pair'"
        )


def map_collab_mode_valid(collab: Collab) -> Violations:
    """Check that the mode is one of the five or an added one."""
    mode: object = collab.mode
    if not isinstance(mode, CollabMode):
        yield _violation("map_collab_mode_valid", "mode", collab.mode, _one_of(CollabMode))


def map_session_id_is_uuid(collab: Collab) -> Violations:
    """Check that the session's id is a UUID v4."""
    if not is_uuid4(collab.collab_id):
        yield _violation("map_session_id_is_uuid", "collab_id", collab.collab_id, "must be a UUID v4")


def map_participants_have_role_ids(collab: Collab) -> Violations:
    """Check that every participant has a role, as it does after activation."""
    name, rule = "map_participants_have_role_ids", "must have a role"
    yield from _each(collab, name, "role_id", rule, lambda p: bool(p.role_id and p.role_id.strip()))


def map_role_ids_non_empty(collab: Collab) -> Violations:
    """Check that no role id is blank; it may be absent."""
    name, rule = "map_role_ids_non_empty", "must not be blank"
    yield from _each(collab, name, "role_id", rule, lambda p: p.role_id is None or bool(p.role_id.strip()))


def map_participant_ids_are_non_empty(collab: Collab) -> Violations:
    """Check that no participant id is blank."""
    name, rule = "map_participant_ids_are_non_empty", "must not be blank"
    yield from _each(collab, name, "participant_id", rule, lambda p: bool(p.participant_id.strip()))


def map_participant_kind_valid(collab: Collab) -> Violations:
    """Check that every participant is of one of the four kinds."""
    name, rule = "map_participant_kind_valid", _one_of(ParticipantKind)
    yield from _each(collab, name, "kind", rule, lambda p: isinstance(p.kind, ParticipantKind))


def _each(
    collab: Collab, name: str, field: str, rule: str, holds: Callable[[Participant], bool]
) -> Violations:
    for index, participant in enumerate(collab.participants):
        if not holds(participant):
            yield _violation(name, f"participants[{index}].{field}", getattr(participant, field), rule)


def _one_of(values: Iterable[str]) -> str:
    return f"must be one of {', '.join(values)}"


def _violation(name: str, field: str, value: object, rule: str) -> InvariantViolation:
    return InvariantViolation(name, field=field, value=value, rule=rule)


def map_turn_completion_matches_dispatch(events: Sequence[MapEvent]) -> Violations:
    """Check that every dispatch has a completion in the same session by the same role, and vice versa.

    If both contain a token, the tokens must be equal; a turn that was granted twice completes twice.
    """
    dispatched = [_turn(e) for e in events if e.event_type is MAPEventType.TURN_DISPATCHED]
    completed = [_turn(e) for e in events if e.event_type is MAPEventType.TURN_COMPLETED]
    yield from _unmatched(dispatched, completed, "was dispatched and must be completed")
    yield from _unmatched(completed, dispatched, "was completed and must have been dispatched")


def map_broadcast_has_receivers(events: Sequence[MapEvent]) -> Violations:
    """Check that a session with a broadcast has at least one receiver."""
    received = {e.session_id for e in events if e.event_type is MAPEventType.BROADCAST_RECEIVED}
    sent = dict.fromkeys(e.session_id for e in events if e.event_type is MAPEventType.BROADCAST_SENT)
    for session_id in sent:
        if session_id not in received:
            rule = "has a MAPBroadcastSent and must have a MAPBroadcastReceived"
            yield _violation("map_broadcast_has_receivers", "session_id", session_id, rule)


def map_exclusive_write(messages: Sequence[Message], events: Sequence[MapEvent]) -> Violations:
    """Check that only the holder of the turn writes: each message has the newest token of its turn.

    `messages` and `events` are those of one session. Messages outside of a turn, such as the opening
    messages of a dialog, need no grant. The answer of a person, of role `user`, is written by who has the turn and
    asked.
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
            yield _violation("map_exclusive_write", field, message.token_id, rule)
        elif grant.participant_id not in (None, _writer(message)):
            rule = f"must be from {grant.participant_id!r}, the owner of turn {message.turn_number}"
            yield _violation("map_exclusive_write", field, message.speaker, rule)


def _writer(message: Message) -> str | None:
    """Return the participant who wrote a message: for the answer of a person, who asked."""
    is_answer = message.role is Role.USER and message.asked_by is not None
    return message.asked_by if is_answer else message.speaker


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


def _unmatched(turns: Sequence[_Turn], others: Sequence[_Turn], rule: str) -> Violations:
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
            yield _violation("map_turn_completion_matches_dispatch", f"turn {turn.number}", value, rule)


def _text(value: JsonValue) -> str | None:
    return None if value is None else str(value)
