"""How a session ended, in a few words."""

from __future__ import annotations

import pytest

from symposia.cli.sessions.render import outcome
from symposia.models.protocol.collab import CollabStatus


@pytest.mark.parametrize(
    ("status", "reason", "detail", "told"),
    [
        (CollabStatus.ACTIVE, None, None, "active"),
        (CollabStatus.COMPLETED, "max_rounds", None, "completed: max_rounds"),
        (CollabStatus.CANCELLED, "failed", "ann: no answer", "failed (ann: no answer)"),
        (CollabStatus.CANCELLED, "all_turns_failed", "2 of 2", "failed: all_turns_failed (2 of 2)"),
        (CollabStatus.COMPLETED, "token_budget", "9 of 8 tokens", "limit: token_budget (9 of 8 tokens)"),
        (CollabStatus.CANCELLED, "cancelled", None, "cancelled"),
        (CollabStatus.CANCELLED, "cancelled", "not needed\x1b[2J", "cancelled (not needed [2J)"),
    ],
)
def test_outcome_repeats_no_word(status, reason, detail, told):
    assert outcome(status, reason, detail) == told
