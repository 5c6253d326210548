"""Resolving a name to a participant."""

from __future__ import annotations

import pytest

from symposia.models.protocol.collab import Participant, find_participant_or_role, find_participants, role_of

ROSTER = (
    Participant(participant_id="coder", role_id="lead"),
    Participant(participant_id="c-2", role_id="coder", display_name="Ada"),
    Participant(participant_id="c-3", role_id="tester", display_name="Ada"),
    Participant(participant_id="c-4", role_id="tester"),
    Participant(participant_id="c-5"),
)


@pytest.mark.parametrize(
    ("name", "ids", "seat"),
    [
        ("coder", ("coder",), "coder"),
        (" CODER ", ("coder",), "coder"),
        ("lead", ("coder",), "lead"),
        ("Tester", ("c-3", "c-4"), "tester"),
        ("ada", ("c-2", "c-3"), None),
        ("C-5", ("c-5",), "c-5"),
        ("ghost", (), None),
        ("", (), None),
    ],
)
def test_name_matches_id_then_role_then_display_name(name, ids, seat):
    assert find_participants(name, ROSTER) == ids
    assert find_participant_or_role(name, ROSTER) == seat


def test_participant_without_a_role_uses_its_id():
    assert [role_of(p) for p in ROSTER[-2:]] == ["tester", "c-5"]
