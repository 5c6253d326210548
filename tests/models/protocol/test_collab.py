"""A collab: its required fields, its defaults and its orchestrator."""

import copy
import pickle

import pytest
from pydantic import ValidationError

from symposia.models.errors import InvariantViolation
from symposia.models.protocol.base import Governance, Ref
from symposia.models.protocol.collab import (
    Collab,
    CollabMode,
    CollabStatus,
    Participant,
    ParticipantKind,
    orchestrator_of,
)
from symposia.models.text.ids import is_uuid4


def collab_of(*participants, mode=CollabMode.ORCHESTRATED, **fields):
    return Collab(title="Review", purpose="Review the change", mode=mode, participants=participants, **fields)


def seat(participant_id, role_id=None):
    return Participant(participant_id=participant_id, role_id=role_id)


def test_new_collab_is_a_draft_with_defaults():
    collab = collab_of(seat("coder"))
    assert collab.status is CollabStatus.DRAFT
    assert collab.participants[0].kind is ParticipantKind.AGENT
    assert is_uuid4(collab.collab_id)
    assert is_uuid4(collab.context_id)
    assert collab.meta.protocol_version == collab.meta.schema_version == "1.0.0"


def test_two_collabs_do_not_share_an_id_or_a_context():
    one, other = collab_of(seat("a")), collab_of(seat("a"))
    assert len({one.collab_id, one.context_id, other.collab_id, other.context_id}) == 4


def test_absent_fields_are_not_written():
    assert set(collab_of(seat("a")).to_wire()) == {
        *(
            "meta",
            "collab_id",
            "context_id",
            "title",
            "purpose",
            "mode",
            "status",
            "participants",
            "created_at",
        )
    }


def test_governance_is_written_in_camel_case():
    governance = Governance(
        lifecycle_phase="review",
        locked=False,
        last_confirm_ref=Ref(id="550e8400-e29b-41d4-a716-446655440000", module="confirm"),
    )
    assert collab_of(seat("a"), governance=governance).to_wire()["governance"] == {
        "lifecyclePhase": "review",
        "locked": False,
        "lastConfirmRef": {"id": "550e8400-e29b-41d4-a716-446655440000", "module": "confirm"},
    }


def test_collab_is_immutable():
    collab = collab_of(seat("a"))
    with pytest.raises(ValidationError, match="frozen"):
        collab.title = "Other"
    assert isinstance(collab.participants, tuple)


def test_a_collab_survives_pickling_and_copying():
    collab = collab_of(seat("a"), seat("b"))
    assert pickle.loads(pickle.dumps(collab)) == collab  # noqa: S301 - our own bytes
    assert copy.deepcopy(collab) == collab


def test_activation_fills_missing_role_ids():
    activated = collab_of(seat("a"), seat("b", "critic")).activated()
    assert [p.role_id for p in activated.participants] == ["a", "critic"]


def test_activation_keeps_bound_roles():
    collab = collab_of(seat("a", "x"))
    assert collab.activated() is collab


@pytest.mark.parametrize(
    ("participants", "who"),
    [
        ([seat("lead", "orchestrator"), seat("coder")], "lead"),
        ([seat("coder"), seat("lead", "role-orchestrator-001")], "lead"),
        ([seat("orchestrator"), seat("coder")], "orchestrator"),
        ([seat("orchestrator-1", "role-architect-001"), seat("coder-1")], "orchestrator-1"),
        ([seat("orchestrator-1"), seat("lead", "orchestrator")], "lead"),
    ],
    ids=["role", "prefixed role", "id", "prefixed id", "role before id"],
)
def test_the_orchestrator_is_found_by_role_then_by_id(participants, who):
    assert orchestrator_of(collab_of(*participants)) == who


def test_named_orchestrator_wins_over_roles():
    assert orchestrator_of(collab_of(seat("a", "orchestrator"), seat("b")), "b") == "b"


@pytest.mark.parametrize(
    ("participants", "explicit", "field", "value"),
    [
        ([seat("a"), seat("b")], None, "participants", "nothing"),
        ([seat("a", "orchestrator"), seat("b", "orchestrator")], None, "participants", "'a, b'"),
        (
            [seat("orchestrator"), seat("orchestrator-2")],
            None,
            "participants",
            "'orchestrator, orchestrator-2'",
        ),
        ([seat("a", "orchestrator")], "z", "orchestrator", "'z'"),
    ],
    ids=["none", "two roles", "two ids", "a stranger"],
)
def test_zero_or_many_orchestrators_break_a_named_rule(participants, explicit, field, value):
    with pytest.raises(InvariantViolation) as caught:
        orchestrator_of(collab_of(*participants), explicit)
    assert (caught.value.name, caught.value.field, caught.value.value) == (
        "map_orchestrator_required",
        field,
        value,
    )
