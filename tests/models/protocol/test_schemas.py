"""What is written is valid under the protocol's schemas, and reads back as it was."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import ValidationError

from protocol import values
from scaling import scaled_examples
from symposia.models.errors import InvalidInput
from symposia.models.protocol.base import CrossCutting, Event, Governance, Meta, Module, Ref, Trace
from symposia.models.protocol.collab import Collab, CollabMode, CollabStatus, Participant, ParticipantKind
from symposia.models.protocol.dialog import Dialog, DialogStatus, Message, Role
from symposia.models.protocol.events import PAYLOADS, MapEvent, MAPEventType
from symposia.models.protocol.reading import RepairedDocument, read_document

KINDS = {
    "collab": values.collabs,
    "dialog": values.dialogs,
    "map-event": values.map_events,
}
#: Where each model's definition stands: schema, and path inside it.
DEFINITIONS = [
    (Collab, "collab", ""),
    (Participant, "collab", "$defs/collab_participant_core"),
    (Governance, "collab", "properties/governance"),
    (Dialog, "dialog", ""),
    (Message, "dialog", "$defs/dialog_message_core"),
    (Governance, "dialog", "properties/governance"),
    (MapEvent, "map-event", ""),
    (Event, "event", ""),
    (Meta, "meta", ""),
    (Trace, "trace", ""),
]


@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=scaled_examples(150),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_any_object_is_written_validly_and_read_back(kind, data, mplp):
    value = data.draw(KINDS[kind])
    mplp.validate(kind, value.to_wire())
    assert json.loads(value.to_json()) == value.to_wire()
    assert read_document(value.to_json()) == RepairedDocument(value)
    assert read_document(value.to_wire()) == RepairedDocument(value)


@pytest.mark.parametrize(("model", "kind", "path"), DEFINITIONS)
def test_model_has_exactly_the_fields_of_its_schema(model, kind, path, mplp):
    fields = {field.alias or name for name, field in model.model_fields.items()}
    assert fields == set(mplp.definition(kind, path)["properties"])


@pytest.mark.parametrize(("model", "kind", "path"), DEFINITIONS)
def test_required_schema_fields_are_required(model, kind, path, mplp):
    required = {name for name, field in model.model_fields.items() if field.is_required()} | model.REQUIRED
    assert required == set(mplp.definition(kind, path).get("required", ()))


@pytest.mark.parametrize(
    ("enum", "kind", "path"),
    [
        (CollabMode, "collab", "properties/mode"),
        (CollabStatus, "collab", "properties/status"),
        (ParticipantKind, "collab", "$defs/collab_participant_core/properties/kind"),
        (DialogStatus, "dialog", "properties/status"),
        (Role, "dialog", "$defs/dialog_message_core/properties/role"),
        (MAPEventType, "map-event", "properties/event_type"),
        (CrossCutting, "meta", "properties/cross_cutting/items"),
    ],
)
def test_an_enum_has_the_values_of_its_schema(enum, kind, path, mplp):
    assert [member.value for member in enum] == mplp.definition(kind, path)["enum"]


def test_reference_has_the_fields_of_its_schema(mplp):
    ref = mplp.document("schemas/v2/common/common-types.schema.json")["definitions"]["Ref"]
    assert set(Ref.model_fields) == set(ref["properties"])
    assert [member.value for member in Module] == ref["properties"]["module"]["enum"]


@pytest.mark.parametrize(
    ("event_type", "name"),
    [
        (MAPEventType.TURN_DISPATCHED, "turn_dispatched_payload"),
        (MAPEventType.TURN_COMPLETED, "turn_completed_payload"),
        (MAPEventType.BROADCAST_SENT, "broadcast_sent_payload"),
        (MAPEventType.BROADCAST_RECEIVED, "broadcast_received_payload"),
    ],
)
def test_payload_has_the_fields_of_its_definition(event_type, name, mplp):
    model, definition = PAYLOADS[event_type], mplp.definition("map-event", f"$defs/{name}")
    assert set(model.model_fields) == set(definition["properties"])
    assert {n for n, f in model.model_fields.items() if f.is_required()} == set(definition["required"])


def test_schema_examples_are_kept_unchanged(mplp):
    for path in sorted((mplp.SCHEMAS / "examples").glob("*.json")):
        kind = path.name.split(".")[0]
        if kind not in KINDS:
            continue
        example = json.loads(path.read_text("utf-8"))
        reading = read_document(example)
        assert [repair.field for repair in reading.repairs] == [key for key in example if key == "$comment"]
        assert reading.value.to_wire() == {key: it for key, it in example.items() if key != "$comment"}
        mplp.validate(kind, reading.value.to_wire())


@pytest.mark.parametrize(
    ("field", "value"),
    [("collab_id", "550E8400-E29B-41D4-A716-446655440000"), ("created_at", "2025-01-01T00:00:00")],
)
def test_test_validator_checks_ids_and_formats(field, value, mplp):
    collab = Collab(
        title="a", purpose="b", mode=CollabMode.SWARM, participants=[Participant(participant_id="c")]
    )
    with pytest.raises(ValidationError):
        mplp.validate("collab", {**collab.to_wire(), field: value})


@given(
    values.json_values, st.sampled_from(["title", "purpose", "mode", "participants", "meta", "created_at"])
)
def test_any_field_value_is_valid_or_refused(mplp, value, field):
    given_fields = {"title": "a", "purpose": "b", "mode": "swarm", "participants": [{"participant_id": "c"}]}
    refused = ""
    try:
        mplp.validate("collab", Collab(**{**given_fields, field: value}).to_wire())
    except InvalidInput as error:
        refused = error.field
    assert not refused or refused.startswith(field)
