"""MAP events and their typed payloads."""

import pytest
from jsonschema import ValidationError

from symposia.models.errors import InvalidInput
from symposia.models.protocol.events import PAYLOADS, MapEvent, MAPEventType, SessionStarted, TurnDispatched
from symposia.models.text.ids import is_uuid4, new_id, role_uuid

SESSION = new_id()
TURN = {"role_id": role_uuid("coder"), "turn_number": 1}


def event_of(event_type, payload=None):
    return MapEvent(event_type=event_type, session_id=SESSION, payload=payload)


def test_an_event_gets_an_id_and_a_time():
    event = event_of(MAPEventType.SESSION_STARTED)
    assert is_uuid4(event.event_id)
    assert event.timestamp.tzinfo is not None


def test_every_type_has_a_payload_class():
    assert set(PAYLOADS) == set(MAPEventType)


def test_a_payload_is_read_as_the_class_of_its_type():
    token = new_id()
    payload = event_of(MAPEventType.TURN_DISPATCHED, TURN | {"token_id": token}).typed_payload()
    assert payload == TurnDispatched(role_id=role_uuid("coder"), turn_number=1, token_id=token)


def test_extra_fields_of_a_payload_are_kept():
    event = event_of(MAPEventType.TURN_DISPATCHED, TURN | {"attempt": 2, "note": None})
    assert event.typed_payload().attempt == 2
    assert event.to_wire()["payload"] == TURN | {"attempt": 2, "note": None}


@pytest.mark.parametrize(
    ("event_type", "payload", "message"),
    [
        (MAPEventType.TURN_DISPATCHED, {"turn_number": 1}, "payload.role_id: is required (got nothing)"),
        (
            MAPEventType.TURN_DISPATCHED,
            TURN | {"role_id": "coder"},
            "payload.role_id: must be a UUID (got 'coder')",
        ),
        (
            MAPEventType.TURN_DISPATCHED,
            TURN | {"token_id": "t"},
            "payload.token_id: must be a UUID (got 't')",
        ),
        (
            MAPEventType.TURN_COMPLETED,
            {"role_id": new_id()},
            "payload.turn_number: is required (got nothing)",
        ),
        (
            MAPEventType.TURN_COMPLETED,
            TURN | {"turn_number": "1"},
            "payload.turn_number: must be a valid integer (got '1')",
        ),
        (
            MAPEventType.TURN_COMPLETED,
            TURN | {"turn_number": True},
            "payload.turn_number: must be a valid integer (got True)",
        ),
        (
            MAPEventType.BROADCAST_SENT,
            {"broadcaster_role_id": "a"},
            "payload.target_count: is required (got nothing)",
        ),
        (MAPEventType.BROADCAST_RECEIVED, {}, "payload.receiver_role_id: is required (got nothing)"),
    ],
)
def test_payload_without_a_required_field_is_refused(event_type, payload, message):
    with pytest.raises(InvalidInput) as caught:
        event_of(event_type, payload)
    assert str(caught.value) == message


def test_event_without_a_payload_is_valid(mplp):
    event = event_of(MAPEventType.TURN_DISPATCHED)
    mplp.validate("map-event", event.to_wire())
    with pytest.raises(InvalidInput, match=r"^payload.role_id: is required"):
        event.typed_payload()
    assert event_of(MAPEventType.SESSION_STARTED).typed_payload() == SessionStarted()


def test_an_unknown_type_is_refused():
    with pytest.raises(InvalidInput, match=r"^event_type: must be 'MAPSessionStarted', "):
        event_of("MAPSomething")


def test_schema_check_of_ids_is_active(mplp):
    with pytest.raises(ValidationError, match="is not a 'uuid'"):
        mplp.validate("map-event", {**event_of("MAPSessionStarted").to_wire(), "session_id": "s1"})
