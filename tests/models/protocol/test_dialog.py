"""A dialog: adding messages, their fields, and threads."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from symposia.models.errors import DialogNotActive, InvalidInput, Locked
from symposia.models.protocol.base import Event, Governance
from symposia.models.protocol.dialog import (
    Dialog,
    DialogStatus,
    Message,
    Role,
    build_turn_message,
)
from symposia.models.text.ids import new_id, utcnow


@pytest.fixture
def dialog():
    return Dialog(context_id=new_id())


def test_a_new_dialog_is_active_and_empty(dialog):
    assert (dialog.status, dialog.messages, dialog.ended_at) == (DialogStatus.ACTIVE, (), None)


def test_added_message_is_returned(dialog):
    first = dialog.add_message(Role.SYSTEM, "You are a helpful assistant.")
    second = dialog.add_message(Role.USER, "Fix the login bug")
    assert dialog.messages == (first, second)
    assert second.content == "Fix the login bug"


def test_a_message_made_elsewhere_is_appended_as_it_is(dialog):
    message = Message(role=Role.AGENT, content="done")
    dialog.append(message)
    assert dialog.messages[-1] is message


def test_a_copy_of_a_dialog_does_not_grow_with_it(dialog):
    snapshot, seen = copy.copy(dialog), dialog.messages
    dialog.add_message(Role.USER, "more")
    assert snapshot.messages == seen == ()


@pytest.mark.parametrize("status", [s for s in DialogStatus if s is not DialogStatus.ACTIVE])
def test_a_dialog_that_is_not_active_takes_no_message(status):
    dialog = Dialog(context_id=new_id(), status=status)
    with pytest.raises(DialogNotActive, match=f"is {status}: only active dialogs accept messages"):
        dialog.add_message(Role.USER, "too late")
    assert dialog.messages == ()


def test_locked_dialog_takes_no_message():
    dialog = Dialog(context_id=new_id(), governance=Governance(locked=True))
    with pytest.raises(
        Locked, match=f"dialog '{dialog.dialog_id}' cannot be changed: its governance.locked is set"
    ):
        dialog.add_message(Role.USER, "hello")


@pytest.mark.parametrize("field", ["status", "messages", "dialog_id"])
def test_dialog_changes_only_by_adding_messages(dialog, field):
    with pytest.raises(ValidationError, match="frozen"):
        setattr(dialog, field, "x")


def test_mutable_dialog_has_no_hash(dialog):
    with pytest.raises(TypeError, match="unhashable"):
        hash(dialog)


def test_message_event_has_speaker_turn_and_token(mplp):
    token, trace = new_id(), new_id()
    message = build_turn_message(
        Role.AGENT,
        "LGTM",
        timestamp=utcnow(),
        participant_id="reviewer",
        turn_number=7,
        token_id=token,
        fence=12,
        trace_id=trace,
    )
    assert (message.speaker, message.turn_number, message.token_id, message.fence) == (
        "reviewer",
        7,
        token,
        12,
    )
    assert message.event.timestamp == message.timestamp
    wire = message.to_wire()
    mplp.validate("dialog", wire, pointer="$defs/dialog_message_core")
    assert wire["event"] | {"event_id": ""} == {
        "event_id": "",
        "event_type": "dialog.message",
        "source": "collab",
        "timestamp": wire["timestamp"],
        "trace_id": trace,
        "data": {"participant_id": "reviewer", "turn_number": 7, "token_id": token, "fence": 12},
    }


@pytest.mark.parametrize(
    "event",
    [
        None,
        Event(event_type="dialog.message", source="x"),
        Event(event_type="dialog.message", source="x", data={"participant_id": 5, "turn_number": "7"}),
        Event(event_type="other.thing", source="x", data={"participant_id": "a", "turn_number": 7}),
    ],
    ids=["no event", "no data", "other types", "another event"],
)
def test_message_outside_turns_has_no_speaker_or_turn(event):
    message = Message(role=Role.USER, content="hello", event=event)
    assert (message.speaker, message.turn_number, message.token_id, message.fence) == (None,) * 4


VALUES = (
    st.none() | st.booleans() | st.integers() | st.text("ab") | st.dictionaries(st.text("ab"), st.integers())
)
PROVENANCE = ("participant_id", "turn_number", "token_id", "fence")


@given(st.dictionaries(st.sampled_from([*PROVENANCE, "history", "reply_to"]), VALUES))
def test_message_as_history_has_no_grant(data):
    event = Event(event_type="dialog.message", source="x", data=data)
    message = Message(role=Role.AGENT, content="hello", event=event).as_history()
    assert (message.speaker, message.turn_number, message.token_id, message.fence) == (None,) * 4
    foreign = {name: value for name, value in data.items() if name in PROVENANCE}
    assert {name: message.history.get(name) for name in foreign} == foreign
    assert message.event.data.get("reply_to") == data.get("reply_to")
    assert Message.model_validate_json(message.to_json()).as_history() == message.as_history() == message


def test_other_events_stay_unchanged():
    event = Event(event_type="other.thing", source="x", data={"turn_number": 7})
    for message in (Message(role=Role.USER, content="a"), Message(role=Role.USER, content="a", event=event)):
        assert message.as_history() is message


@pytest.mark.parametrize("event_type", ["MAPTurnDispatched", "turn_done", "turn.", ".turn", "turn\n", ""])
def test_event_type_is_dotted_lower_case(event_type):
    with pytest.raises(InvalidInput, match=r"^event_type: must match pattern"):
        Event(event_type=event_type, source="x")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), "\ud800", {1: 2}])
def test_event_data_must_be_json(value):
    with pytest.raises(InvalidInput, match=r"^data"):
        Event(event_type="a.b", source="x", data={"value": value})


def test_message_carries_data_beside_its_text(mplp):
    message = build_turn_message(
        Role.AGENT,
        "Two.",
        timestamp=utcnow(),
        participant_id="ada",
        turn_number=1,
        token_id=new_id(),
        fence=1,
    )
    assert message.output is None
    carrying = message.with_output({"count": 2})
    assert (carrying.output, carrying.speaker, carrying.turn_number) == ({"count": 2}, "ada", 1)
    mplp.validate("dialog", carrying.to_wire(), pointer="$defs/dialog_message_core")
    assert carrying.as_history().output == {"count": 2}
