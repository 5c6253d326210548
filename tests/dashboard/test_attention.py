"""What an operator should look at: reasons and thresholds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from symposia.dashboard.views.attention import AttentionLimits, attention_of
from symposia.dashboard.views.collab_row import CollabFacts
from symposia.state.redis.scripts import view_fields
from symposia.state.sessions.records import SessionState

FACTS = CollabFacts(0, "A title", "pair", {"ann": "Ann"})
LIMITS = AttentionLimits(queued_ms=1_000, stuck_ms=5_000)


def state(now_ms: int, **turn: Any) -> SessionState:
    fields = dict.fromkeys(view_fields()) | {"status": "active", "updated_ms": "0"}
    record = {"participant": "ann", "scope": "floor", "grants": 0, "failures": 0, "dispatches": 1, **turn}
    return SessionState("s", now_ms, fields, {"1": json.dumps(record)})


@pytest.mark.parametrize(
    ("now_ms", "turn", "expected"),
    [
        (999, {"status": "planned", "queued_ms": 0}, None),
        (1_000, {"status": "planned", "queued_ms": 0}, "queued, but no worker has taken it"),
        (4_999, {"status": "planned", "short_tokens": 5}, None),
        (5_000, {"status": "planned", "short_tokens": 5}, "a turn waits for budget"),
        (9_000, {"status": "speaking"}, None),
        (1, {"status": "planned", "lacks": "ada"}, "no worker knows agent ada"),
    ],
)
def test_session_is_stuck_after_its_threshold(now_ms: int, turn: dict[str, Any], expected: str | None):
    found = attention_of(state(now_ms, **turn), FACTS, limits=LIMITS, has_workers=True)
    assert found == (("stuck" if expected else None), expected)


def test_unswept_session_is_stuck():
    speaking = state(9_000, status="speaking")
    found = attention_of(speaking, FACTS, limits=LIMITS, has_workers=True, is_unswept=True)
    assert found == ("stuck", "no worker sweeps it")
