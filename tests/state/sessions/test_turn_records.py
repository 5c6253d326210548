"""Records of turns in a view of a session."""

from __future__ import annotations

import json

import pytest

from symposia.models.errors import CorruptSession
from symposia.state.sessions.turn_records import TurnRecords

STORED = {
    "participant": "ann",
    "scope": "floor",
    "status": "planned",
    "grants": 0,
    "failures": 0,
    "dispatches": 0,
}


def records(**turn: object) -> TurnRecords:
    return TurnRecords("s", {"7": json.dumps({**STORED, **turn}), "7:plan": "{}"})


def test_record_is_built_once_for_all_views():
    assert records()[7] is records()[7]
    assert records(status="speaking")[7].status == "speaking"


def test_unknown_number_and_invalid_record_are_refused():
    with pytest.raises(KeyError):
        records()[8]
    with pytest.raises(CorruptSession, match="without a parking time"):
        records(status="parked")[7]
    with pytest.raises(CorruptSession, match="turn 7"):
        records(grants="many")[7]
