"""Tolerant reading: known deviations are repaired and reported, everything else is refused by name."""

import copy
import json
from datetime import UTC, datetime

import pytest

from symposia.models.errors import InvalidInput
from symposia.models.protocol.collab import Collab, CollabStatus
from symposia.models.protocol.dialog import Dialog, DialogStatus
from symposia.models.protocol.invariants import check_collab
from symposia.models.protocol.reading import read_document
from symposia.models.protocol.repairs import Repair
from symposia.models.text.ids import derived_id, is_uuid4

META = {"protocol_version": "1.0.0", "schema_version": "1.0.0"}
NOW = "2025-12-07T00:00:00.000Z"
V4 = "550e8400-e29b-41d4-a716-446655440000"
COLLAB = {
    "meta": META,
    "collab_id": V4,
    "context_id": V4,
    "title": "Review",
    "purpose": "Review it",
    "mode": "pair",
    "status": "draft",
    "participants": [{"participant_id": "a", "kind": "agent"}],
    "created_at": NOW,
}
DIALOG = {
    "meta": META,
    "dialog_id": V4,
    "context_id": V4,
    "status": "active",
    "messages": [{"role": "user", "content": "hi", "timestamp": NOW}],
}
EVENT = {"event_id": V4, "event_type": "MAPSessionStarted", "timestamp": NOW, "session_id": V4}
EMBEDDED = {"event_id": V4, "event_type": "a.b", "source": "c", "timestamp": NOW}


def seed(mplp, name, index):
    if not mplp.SEEDS.is_dir():
        pytest.skip(f"the source documents are not at {mplp.SEEDS}; set SYMPOSIA_SEEDS_DIR")
    return mplp.examples(name)[index]


def fields_of(reading):
    return [repair.field for repair in reading.repairs]


def test_collab_example_is_read_and_written(mplp):
    example = seed(mplp, "001", -1)
    reading = read_document(json.dumps(example))
    assert reading.value.collab_id == "550e8400-e29b-41d4-a716-446655440003"
    assert reading.value.context_id == V4
    assert reading.value.status is CollabStatus.ACTIVE
    assert [p.to_wire() for p in reading.value.participants] == example["participants"]
    assert fields_of(reading) == [
        "meta.source",
        "meta.protocolVersion",
        "meta.schema_version",
        "collab_id",
        "context_id",
    ]
    mplp.validate("collab", reading.value.to_wire())
    check_collab(reading.value)


def test_dialog_example_is_read_and_written(mplp):
    example = seed(mplp, "000", -1)
    reading = read_document(example)
    assert reading.value.dialog_id == "550e8400-e29b-41d4-a716-446655440005"
    assert reading.value.thread_id == derived_id("thread-login-fix-001")
    assert reading.value.status is DialogStatus.COMPLETED
    assert [m.to_wire() for m in reading.value.messages] == example["messages"]
    assert fields_of(reading) == [
        "meta.source",
        "meta.protocolVersion",
        "meta.schema_version",
        "dialog_id",
        "context_id",
        "thread_id",
    ]
    mplp.validate("dialog", reading.value.to_wire())


def test_every_example_message_is_read(mplp):
    seed(mplp, "000", 0)
    conversations = [block["messages"] for block in mplp.examples("000") if "messages" in block]
    assert len(conversations) == 4
    for message in (message for conversation in conversations for message in conversation):
        reading = read_document(message)
        assert reading.repairs == ()
        assert reading.value.to_wire() == message


def test_golden_flow_is_read_without_repairs(mplp):
    flow = "tests/golden/flows/map-flow-01-turn-taking"
    context = mplp.document(f"{flow}/input/context.json")
    reading = read_document(mplp.document(f"{flow}/input/collab.json"))
    assert reading.repairs == ()
    assert reading.value.to_wire() == mplp.document(f"{flow}/expected/collab.json")
    rules = {
        "uuid-v4": lambda values: all(is_uuid4(value) for value in values),
        "min-length(2)": lambda values: len(values[0]) >= 2,
        "non-empty-string": all,
        "enum(round_robin)": lambda values: values == ["round_robin"],
        "enum(agent,human,system,external)": lambda values: (
            {*values} <= {"agent", "human", "system", "external"}
        ),
        "eq(context.context_id)": lambda values: values == [context["context_id"]],
    }
    wire = reading.value.to_wire()
    checked = [i for i in mplp.document(f"{flow}/invariants.yaml")["invariants"] if i["scope"] == "collab"]
    assert len(checked) == 6
    for invariant in checked:
        name, _, inner = invariant["path"].partition("[*].")
        values = [item[inner] for item in wire[name]] if inner else [wire[name]]
        assert rules[invariant["rule"]](values), invariant["id"]


@pytest.mark.parametrize("form", [dict, json.dumps, lambda data: json.dumps(data).encode()])
def test_a_document_may_be_data_text_or_bytes(form):
    reading = read_document(form(COLLAB))
    assert reading.repairs == ()
    assert reading.value.to_wire() == COLLAB


def test_reading_does_not_change_its_input():
    data = copy.deepcopy(COLLAB) | {"meta": {"protocolVersion": "1.0.0"}, "$comment": "x"}
    before = copy.deepcopy(data)
    read_document(data)
    assert data == before


UPPER = V4.upper()
COMMENT = "is not a field of the schema"


@pytest.mark.parametrize(
    ("changes", "repairs"),
    [
        ({"$comment": "x"}, [Repair("$comment", "x", None, COMMENT)]),
        ({"meta": {**META, "$comment": "x"}}, [Repair("meta.$comment", "x", None, COMMENT)]),
        (
            {"meta": {**META, "source": "mplp-runtime"}},
            [Repair("meta.source", "mplp-runtime", None, COMMENT)],
        ),
        (
            {"meta": {"protocolVersion": "1.0.0", "schema_version": "1.0.0"}},
            [Repair("meta.protocolVersion", "protocolVersion", "protocol_version", "must be in snake_case")],
        ),
        (
            {"meta": {**META, "protocolVersion": "1.0.0"}},
            [Repair("meta.protocolVersion", "protocolVersion", "protocol_version", "must be in snake_case")],
        ),
        (
            {"meta": {"protocol_version": "1.0.0"}},
            [Repair("meta.schema_version", None, "1.0.0", "is required; the schemas have one version")],
        ),
        (
            {"meta": {**META, "createdAt": "2025-12-07T00:00:00"}},
            [
                Repair("meta.createdAt", "createdAt", "created_at", "must be in snake_case"),
                Repair(
                    "meta.created_at",
                    "2025-12-07T00:00:00",
                    "2025-12-07T00:00:00Z",
                    "must have a time zone; UTC is assumed",
                ),
            ],
        ),
        ({"collab_id": UPPER}, [Repair("collab_id", UPPER, V4, "must be in lower case")]),
        (
            {"collab_id": f"collab-{V4}"},
            [Repair("collab_id", f"collab-{V4}", V4, "must be a UUID v4 without the prefix 'collab-'")],
        ),
        (
            {"context_id": f"ctx-{UPPER}"},
            [
                Repair("context_id", f"ctx-{UPPER}", UPPER, "must be a UUID v4 without the prefix 'ctx-'"),
                Repair("context_id", UPPER, V4, "must be in lower case"),
            ],
        ),
        (
            {"context_id": "ctx-123"},
            [
                Repair(
                    "context_id",
                    "ctx-123",
                    derived_id("ctx-123"),
                    "must be a UUID v4; derived from the name",
                )
            ],
        ),
        ({"updated_at": None}, [Repair("updated_at", None, None, "must be omitted if null")]),
        (
            {"events": [{**EMBEDDED, "event_id": UPPER}]},
            [Repair("events[0].event_id", UPPER, V4, "must be in lower case")],
        ),
        (
            {"governance": {"lastConfirmRef": {"id": UPPER, "module": "confirm"}}},
            [Repair("governance.lastConfirmRef.id", UPPER, V4, "must be in lower case")],
        ),
    ],
)
def test_known_deviation_is_repaired_and_reported(changes, repairs, mplp):
    reading = read_document({**COLLAB, **changes})
    assert list(reading.repairs) == repairs
    mplp.validate("collab", reading.value.to_wire())


def test_yaml_time_without_a_zone_is_utc():
    naive = datetime(2025, 12, 7)  # noqa: DTZ001 - what a YAML parser gives
    reading = read_document({**COLLAB, "created_at": naive})
    assert reading.value.created_at == datetime(2025, 12, 7, tzinfo=UTC)
    assert fields_of(reading) == ["created_at"]


def test_same_name_gives_the_same_id_in_every_document():
    collab = read_document({**COLLAB, "context_id": "ctx-123"}).value
    dialog = read_document({**DIALOG, "context_id": "ctx-123"}).value
    assert collab.context_id == dialog.context_id
    assert is_uuid4(collab.context_id)


def test_free_form_data_is_never_touched():
    data = {"$comment": "mine", "id": UPPER, "timestamp": "2025-12-07T00:00:00", "nothing": None}
    reading = read_document({**DIALOG, "events": [{**EMBEDDED, "data": data}]})
    assert reading.repairs == ()
    assert reading.value.to_wire()["events"][0]["data"] == data
    event = read_document({**EVENT, "payload": data})
    assert event.repairs == ()
    assert event.value.to_wire()["payload"] == data


def test_missing_start_time_is_not_invented():
    assert read_document(DIALOG).value.to_wire() == DIALOG


def test_event_is_read_with_any_uuid_and_prefix(mplp):
    v1 = "123e4567-e89b-12d3-a456-426614174000"
    reading = read_document({**EVENT, "event_id": v1.upper(), "session_id": f"collab-{V4}"})
    assert (reading.value.event_id, reading.value.session_id) == (v1, V4)
    assert fields_of(reading) == ["event_id", "session_id"]
    mplp.validate("map-event", reading.value.to_wire())


NO_PARTICIPANT = "participants: must have at least 1 item (got [])"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"mode": "chat"},
            "mode: must be 'broadcast', 'round_robin', 'orchestrated', 'swarm' or 'pair' (got 'chat')",
        ),
        (
            {"mode": "PAIR"},
            "mode: must be 'broadcast', 'round_robin', 'orchestrated', 'swarm' or 'pair' (got 'PAIR')",
        ),
        (
            {"status": "paused"},
            "status: must be 'draft', 'active', 'suspended', 'completed' or 'cancelled' (got 'paused')",
        ),
        ({"participants": []}, NO_PARTICIPANT),
        (
            {"participants": [{"participant_id": "a", "kind": "bot"}]},
            "participants[0].kind: must be 'agent', 'human', 'system' or 'external' (got 'bot')",
        ),
        ({"participants": [{"participant_id": "a"}]}, "participants[0].kind: is required (got nothing)"),
        ({"collab_id": "review-1"}, "collab_id: must be a UUID v4 (got 'review-1')"),
        ({"collab_id": "ctx-"}, "collab_id: must be a UUID v4 (got 'ctx-')"),
        (
            {"collab_id": "123e4567-e89b-12d3-a456-426614174000"},
            "collab_id: must be a UUID v4 (got '123e4567-e89b-12d3-a456-426614174000')",
        ),
        (
            {"created_at": "2025-12-07"},
            "created_at: must be a date and time with a time zone, such as 2025-12-07T00:00:00.000Z (got '2025-12-07')",
        ),
        ({"meta": {}}, "meta.protocol_version: is required (got nothing)"),
        (
            {"meta": {**META, "protocolVersion": "2.0.0"}},
            "meta.protocolVersion: must not contradict meta.protocol_version (got '2.0.0')",
        ),
        ({"meta": {**META, "vendor": "x"}}, "meta.vendor: is not a known field (got 'x')"),
        ({"governance": {"locked": "yes"}}, "governance.locked: must be a valid boolean (got 'yes')"),
        (
            {"governance": {"lifecycle_phase": "x"}},
            "governance.lifecycle_phase: is not a known field, did you mean lifecyclePhase? (got 'x')",
        ),
        ({"colour": "red"}, "colour: is not a known field (got 'red')"),
        ({"title": None}, "title: is required (got nothing)"),
        ({"events": [{"event_type": "a.b", "source": "c"}]}, "events[0].event_id: is required (got nothing)"),
    ],
)
def test_ambiguous_documents_are_refused(changes, message):
    with pytest.raises(InvalidInput) as caught:
        read_document({**COLLAB, **changes})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("document", "kind_field"),
    [
        (COLLAB, "collab_id"),
        (DIALOG, "dialog_id"),
        (EVENT, "session_id"),
        (DIALOG["messages"][0], "content"),
    ],
    ids=["collab", "dialog", "event", "message"],
)
def test_missing_required_field_is_not_invented(document, kind_field):
    for field in document.keys() - {kind_field}:
        with pytest.raises(InvalidInput) as caught:
            read_document({name: value for name, value in document.items() if name != field})
        assert str(caught.value) == f"{field}: is required (got nothing)"


@pytest.mark.parametrize(
    ("data", "start"),
    [
        ("", "document: must be JSON: "),
        ("{", "document: must be JSON: "),
        ("title: a", "document: must be JSON: "),
        ('{"a": NaN}', "document: must be JSON: "),
        (b"\xff", "document: must be JSON: "),
        ("[" * 10_000, "document: must be JSON: "),
        ("[]", "document: must be a JSON object (got [])"),
        ("null", "document: must be a JSON object (got None)"),
        (5, "document: must be a JSON object (got 5)"),
        ({"collab_id": V4, "meta": 5}, "meta: must be an object with fields (got 5)"),
    ],
    ids=str,
)
def test_other_values_are_refused_in_one_line(data, start):
    with pytest.raises(InvalidInput) as caught:
        read_document(data)
    assert str(caught.value).startswith(start)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "kind"), [("001", Collab), ("000", Dialog)])
def test_invalid_examples_name_the_nearest_form(mplp, name, kind):
    """The complete examples of the source documents are not valid under their own schema."""
    example = seed(mplp, name, -1)
    id_field = f"{kind.__name__.lower()}_id"
    reads = (
        kind.model_validate,
        lambda data: kind.model_validate_json(json.dumps(data)),
        lambda data: kind(**data),
    )
    for read in reads:
        document = copy.deepcopy(example)
        with pytest.raises(
            InvalidInput, match=r"meta\.protocolVersion: is not a known field; write 'protocol_version'"
        ):
            read(document)
        document["meta"] = {**META, "source": "mplp-runtime"}
        with pytest.raises(InvalidInput, match=r"meta\.source: is not a known field; omit it"):
            read(document)
        document["meta"] = META
        nearest = example[id_field].partition("-")[2]
        with pytest.raises(
            InvalidInput, match=f"{id_field}: must be a UUID v4; the nearest valid form is '{nearest}'"
        ):
            read(document)


def test_text_that_is_no_json_is_invalid_input():
    with pytest.raises(InvalidInput, match="Invalid JSON"):
        Collab.model_validate_json("title: a")


def test_parsed_dialog_gets_no_start_time():
    assert Dialog.model_validate(DIALOG).started_at is None
    assert Dialog.model_validate_json(json.dumps(DIALOG)).started_at is None
    assert Dialog(context_id=V4).started_at is not None


@pytest.mark.parametrize(("seed_name", "field"), [("000", "dialog_id"), ("001", "collab_id")])
def test_examples_of_the_documents_are_repaired_by_one_function(mplp, seed_name, field):
    if not mplp.SEEDS.is_dir():
        pytest.skip(f"the source documents are not at {mplp.SEEDS}; set SYMPOSIA_SEEDS_DIR")
    examples = [it for it in mplp.examples(seed_name) if field in it]
    assert examples
    for example in examples:
        found = read_document(json.dumps(example))
        assert found.repairs
        assert read_document(found.value.to_wire()).repairs == ()


@pytest.mark.parametrize("data", [COLLAB, DIALOG, EVENT, DIALOG["messages"][0]])
def test_kind_of_a_document_is_found(data):
    assert read_document(data).value.to_wire() == data


def test_document_of_no_kind_is_refused():
    with pytest.raises(InvalidInput, match="document: must have one of the fields collab_id, dialog_id"):
        read_document({"plan_id": V4})


def test_title_of_one_space_is_valid_as_in_the_schema(mplp):
    assert read_document(COLLAB | {"title": " ", "purpose": " "}).value.title == " "
    with pytest.raises(InvalidInput, match="title"):
        read_document(COLLAB | {"title": ""})
