"""The lifecycle of a session, every pair of statuses: what may follow what, and what moves along."""

from datetime import UTC, datetime
from itertools import product

import pytest

from symposia.models.errors import IllegalTransition, InvalidInput, Locked
from symposia.models.protocol.base import Governance
from symposia.models.protocol.collab import Collab, CollabMode, CollabStatus, Participant
from symposia.models.protocol.invariants import COLLAB_EDGES, transition_collab

COLLAB_DIAGRAM = [
    ("draft", "active"),
    ("draft", "cancelled"),
    ("active", "suspended"),
    ("active", "completed"),
    ("active", "cancelled"),
    ("suspended", "active"),
]
NOON = datetime(2025, 12, 7, 12, tzinfo=UTC)


def collab_in(status, **fields):
    return Collab(
        title="a",
        purpose="b",
        mode=CollabMode.SWARM,
        status=status,
        participants=[Participant(participant_id="c")],
        **fields,
    )


def test_every_status_is_in_its_table():
    assert set(COLLAB_EDGES) == set(CollabStatus)


@pytest.mark.parametrize(("current", "target"), list(product(CollabStatus, repeat=2)))
def test_collab_transitions_follow_the_diagram(current, target, mplp):
    collab = collab_in(current)
    if (current, target) in COLLAB_DIAGRAM:
        moved = transition_collab(collab, target)
        assert moved.status is target
        assert collab.status is current
        mplp.validate("collab", moved.to_wire())
    else:
        with pytest.raises(IllegalTransition, match=f"^session .*{current}"):
            transition_collab(collab, target)


@pytest.mark.parametrize(("current", "target"), COLLAB_DIAGRAM)
def test_locked_collab_refuses_every_transition(current, target):
    with pytest.raises(Locked):
        transition_collab(collab_in(current, governance=Governance(locked=True)), CollabStatus(target))


def test_unlocked_governance_refuses_nothing():
    collab = collab_in("draft", governance=Governance(locked=False))
    assert transition_collab(collab, CollabStatus.ACTIVE).governance == collab.governance


def test_only_activation_fills_missing_role_ids():
    draft = collab_in("draft")
    assert transition_collab(draft, CollabStatus.ACTIVE).participants[0].role_id == "c"
    assert transition_collab(draft, CollabStatus.CANCELLED).participants[0].role_id is None


def test_transition_records_time_and_actor():
    collab = transition_collab(collab_in("draft"), CollabStatus.ACTIVE, at=NOON, by="operator")
    assert collab.updated_at == collab.meta.updated_at == NOON
    assert collab.meta.updated_by == "operator"


def test_transition_without_an_actor_clears_the_actor():
    collab = transition_collab(collab_in("draft"), CollabStatus.ACTIVE, by="operator")
    assert transition_collab(collab, CollabStatus.SUSPENDED).meta.updated_by is None


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(InvalidInput, match="must be a date and time with a time zone"):
        transition_collab(collab_in("draft"), CollabStatus.ACTIVE, at=datetime(2025, 12, 7))  # noqa: DTZ001
