"""The named invariants: each holds for valid data and names itself in its violation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import values
from symposia.models.errors import InvariantViolation
from symposia.models.protocol.collab import Collab, CollabMode, Participant
from symposia.models.protocol.dialog import Message, Role, build_turn_message
from symposia.models.protocol.events import MapEvent, MAPEventType
from symposia.models.protocol.invariants import INVARIANTS, Scope, check_collab
from symposia.models.text.ids import new_id, role_uuid, utcnow

SESSION = new_id()


def seat(participant_id, role_id=None):
    return Participant(participant_id=participant_id, role_id=role_id)


def collab_of(*participants, mode=CollabMode.ROUND_ROBIN):
    return Collab(title="a", purpose="b", mode=mode, participants=participants)


def event_of(event_type, session=SESSION, **payload):
    return MapEvent(event_type=event_type, session_id=session, payload=payload or None)


def dispatched(number, role="a", **more):
    return event_of(MAPEventType.TURN_DISPATCHED, role_id=role_uuid(role), turn_number=number, **more)


def completed(number, role="a", **more):
    return event_of(MAPEventType.TURN_COMPLETED, role_id=role_uuid(role), turn_number=number, **more)


def message_in(number, token, speaker="a"):
    return build_turn_message(
        Role.AGENT,
        "x",
        timestamp=utcnow(),
        participant_id=speaker,
        turn_number=number,
        token_id=token,
        fence=1,
    )


def check_trace(events):
    """The violations of the event rules."""
    rules = [invariant for invariant in INVARIANTS.values() if invariant.scope is Scope.TRACE]
    return [violation for rule in rules for violation in rule.check(events)]


def names_of(violations):
    return [violation.name for violation in violations]


def test_registry_has_the_rules_of_both_documents(mplp):
    listed = mplp.document("schemas/v2/invariants/map-invariants.yaml")["invariants"]
    own = {"map_min_participants", "map_unique_participant_ids", "map_orchestrator_required"}
    own |= {"map_exclusive_write", "map_pair_exactly_two"}
    assert set(INVARIANTS) == {entry["id"] for entry in listed} | own
    assert {entry["id"]: entry["scope"] for entry in listed} == {
        entry["id"]: INVARIANTS[entry["id"]].scope for entry in listed
    }


# What no constructor lets through can still come to be, by copying with unchecked values.
PAIR = collab_of(seat("a"), seat("b"), mode=CollabMode.PAIR)
NOBODY = PAIR.model_copy(update={"participants": ()})
BROKEN = {
    "map_min_participants": (NOBODY, "participants: must have at least 1 item (got [])"),
    "map_session_requires_participants": (NOBODY, "participants: must have at least 1 item (got [])"),
    "map_unique_participant_ids": (
        collab_of(seat("a"), seat("b"), seat("a")),
        "participants: must not contain a participant_id twice (got 'a')",
    ),
    "map_orchestrator_required": (
        collab_of(seat("a"), mode=CollabMode.ORCHESTRATED),
        "participants: must contain exactly one orchestrator: set its role_id to 'orchestrator', or name it (got nothing)",
    ),
    "map_pair_exactly_two": (
        collab_of(seat("a"), seat("b"), seat("c"), mode=CollabMode.PAIR),
        "participants: must have exactly 2 items in mode 'pair' (got 3)",
    ),
    "map_collab_mode_valid": (
        PAIR.model_copy(update={"mode": "chat"}),
        "mode: must be one of broadcast, round_robin, orchestrated, swarm, pair (got 'chat')",
    ),
    "map_session_id_is_uuid": (
        PAIR.model_copy(update={"collab_id": "c1"}),
        "collab_id: must be a UUID v4 (got 'c1')",
    ),
    "map_participants_have_role_ids": (
        collab_of(seat("a", "x"), seat("b")),
        "participants[1].role_id: must have a role (got None)",
    ),
    "map_role_ids_non_empty": (
        PAIR.model_copy(update={"participants": (seat("a").model_copy(update={"role_id": " "}),)}),
        "participants[0].role_id: must not be blank (got ' ')",
    ),
    "map_participant_ids_are_non_empty": (
        PAIR.model_copy(
            update={"participants": (seat("a"), seat("b").model_copy(update={"participant_id": ""}))}
        ),
        "participants[1].participant_id: must not be blank (got '')",
    ),
    "map_participant_kind_valid": (
        PAIR.model_copy(update={"participants": (seat("a").model_copy(update={"kind": "robot"}),)}),
        "participants[0].kind: must be one of agent, human, system, external (got 'robot')",
    ),
}


def test_every_collab_rule_has_a_breaking_example():
    assert set(BROKEN) == {name for name, invariant in INVARIANTS.items() if invariant.scope is Scope.COLLAB}


@pytest.mark.parametrize("name", BROKEN)
def test_violation_names_rule_field_and_value(name):
    collab, message = BROKEN[name]
    assert [str(violation) for violation in INVARIANTS[name].check(collab)] == [f"{message} [{name}]"]


@pytest.mark.parametrize("name", BROKEN)
def test_valid_collab_breaks_no_rule(name):
    collab = collab_of(seat("orchestrator", "orchestrator"), seat("b", "y"), mode=CollabMode.ORCHESTRATED)
    assert list(INVARIANTS[name].check(collab)) == []


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in BROKEN
        if name not in ("map_session_requires_participants", "map_participants_have_role_ids")
    ],
)
def test_collab_that_breaks_a_rule_is_not_opened(name):
    with pytest.raises(InvariantViolation) as caught:
        check_collab(BROKEN[name][0])
    assert caught.value.name == name


def test_collab_without_role_ids_is_opened():
    collab = collab_of(seat("a"), seat("b"))
    check_collab(collab)
    assert list(INVARIANTS["map_participants_have_role_ids"].check(collab.activated())) == []


def test_orchestrator_may_be_named_at_opening():
    collab = collab_of(seat("a"), seat("b"), mode=CollabMode.ORCHESTRATED)
    check_collab(collab, orchestrator="b")
    with pytest.raises(
        InvariantViolation, match=r"^orchestrator: must be the id of a participant \(got 'z'\)"
    ):
        check_collab(collab, orchestrator="z")


@pytest.mark.parametrize("count", [1, 3, 4])
def test_a_pair_is_exactly_two(count):
    with pytest.raises(InvariantViolation, match="must have exactly 2 items"):
        check_collab(collab_of(*(seat(f"p{i}") for i in range(count)), mode=CollabMode.PAIR))


@given(values.collabs)
def test_built_collab_breaks_only_participant_rules(collab):
    broken = {
        name
        for name, invariant in INVARIANTS.items()
        if invariant.scope is Scope.COLLAB and list(invariant.check(collab.activated()))
    }
    assert broken <= {"map_unique_participant_ids", "map_orchestrator_required", "map_pair_exactly_two"}


def test_the_golden_flow_keeps_every_rule(mplp):
    flow = "tests/golden/flows/map-flow-01-turn-taking"
    collab = Collab(**mplp.document(f"{flow}/input/collab.json"))
    check_collab(collab)
    assert list(INVARIANTS["map_participants_have_role_ids"].check(collab)) == []


def test_dispatched_and_completed_turn_is_valid():
    assert check_trace([dispatched(1), completed(1), dispatched(2, "b"), completed(2, "b")]) == []


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([dispatched(1)], "turn 1: was dispatched and must be completed"),
        ([completed(1)], "turn 1: was completed and must have been dispatched"),
        ([dispatched(1), completed(1), dispatched(2)], "turn 2: was dispatched and must be completed"),
    ],
    ids=["never completed", "never dispatched", "the second of two"],
)
def test_turn_without_its_counterpart_is_reported(events, message):
    violations = check_trace(events)
    assert names_of(violations) == ["map_turn_completion_matches_dispatch"]
    assert str(violations[0]).startswith(message)


def test_completion_matches_role_and_session():
    assert len(check_trace([dispatched(1, "a"), completed(1, "b")])) == 2
    other = event_of(MAPEventType.TURN_COMPLETED, new_id(), role_id=role_uuid("a"), turn_number=1)
    assert len(check_trace([dispatched(1), other])) == 2


def test_turn_with_two_tokens_completes_twice():
    first, second = new_id(), new_id()
    grants = [dispatched(1, token_id=first), dispatched(1, token_id=second)]
    assert len(check_trace([*grants, completed(1, token_id=second)])) == 1
    assert check_trace([*grants, completed(1, token_id=first), completed(1, token_id=second)]) == []
    assert check_trace([*grants, completed(1)]) == []


def test_broadcast_needs_a_recipient_in_its_session():
    sent = event_of(MAPEventType.BROADCAST_SENT, broadcaster_role_id="a", target_count=2)
    received = event_of(MAPEventType.BROADCAST_RECEIVED, receiver_role_id="b")
    elsewhere = event_of(MAPEventType.BROADCAST_RECEIVED, new_id(), receiver_role_id="b")
    assert check_trace([sent, received]) == []
    assert names_of(check_trace([sent, elsewhere])) == ["map_broadcast_has_receivers"]


def exclusive(messages, events):
    return [(v.field, v.rule) for v in INVARIANTS["map_exclusive_write"].check(messages, events)]


def test_message_with_its_turn_token_is_valid():
    token = new_id()
    assert exclusive([message_in(1, token)], [dispatched(1, token_id=token, participant_id="a")]) == []


def test_message_outside_turns_needs_no_token():
    assert exclusive([Message(role=Role.USER, content="Go")], []) == []


@pytest.mark.parametrize("token", ["550e8400-e29b-41d4-a716-446655440000", "not a token"])
def test_message_needs_the_token_of_the_holder(token):
    found = [("messages[0]", "must have the last token granted for turn 1")]
    assert exclusive([message_in(1, token)], [dispatched(1, token_id=new_id())]) == found
    assert exclusive([message_in(1, token)], []) == found


def test_replaced_token_writes_no_message():
    old, new = new_id(), new_id()
    grants = [dispatched(1, token_id=old), dispatched(1, token_id=new)]
    assert exclusive([message_in(1, new)], grants) == []
    assert exclusive([message_in(1, old)], grants) == [
        ("messages[0]", "must have the last token granted for turn 1")
    ]


def test_turn_message_must_come_from_its_owner():
    token = new_id()
    found = exclusive([message_in(1, token, "b")], [dispatched(1, token_id=token, participant_id="a")])
    assert found == [("messages[0]", "must be from 'a', the owner of turn 1")]


@pytest.mark.parametrize(
    ("role", "asked_by", "count"), [("user", "a", 0), ("agent", "a", 1), ("user", "c", 1)]
)
def test_only_answers_of_people_are_written_in_the_turn_of_another(role, asked_by, count):
    token = new_id()
    answer = message_in(1, token, "b").as_answer_to(asked_by).changed(role=Role(role))
    assert len(exclusive([answer], [dispatched(1, token_id=token, participant_id="a")])) == count


@given(st.lists(st.sampled_from("abc"), max_size=8))
def test_sequential_turns_keep_every_rule(speakers):
    events, messages = [], []
    for number, speaker in enumerate(speakers, 1):
        token = new_id()
        events += [
            dispatched(number, speaker, token_id=token, participant_id=speaker),
            completed(number, speaker),
        ]
        messages.append(message_in(number, token, speaker))
    assert check_trace(events) == []
    assert exclusive(messages, events) == []
