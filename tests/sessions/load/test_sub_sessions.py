"""Sessions in sessions, on few threads."""

from __future__ import annotations

from typing import Any

import pytest

from live import result_of
from symposia.models.sessions.stop_conditions import MaxRounds, TokenBudget


def nested(levels: int) -> dict[str, Any]:
    """A session of an agent and a session, with that many levels of sessions inside."""
    inner: Any = "echo" if levels == 0 else {"session": nested(levels - 1)}
    return {
        "title": f"Level {levels}",
        "purpose": "come through",
        "mode": "round_robin",
        "participants": [{"participant_id": "ann"}, {"participant_id": "team"}],
        "agents": {"ann": "say", "team": inner},
        "stop": {"max_rounds": 1},
    }


@pytest.mark.long
@pytest.mark.timeout(180)
def test_twenty_deep_trees_end_on_two_threads(installation):
    installation.start_worker(concurrency=2)
    jobs = [
        installation.submit(
            "round_robin",
            {"ann": "say", "team": {"session": nested(2)}},
            stop=MaxRounds(1) | TokenBudget(100_000),
        )
        for _ in range(20)
    ]
    for job in jobs:
        result = result_of(job, timeout_s=120)
        assert result.ok, result.detail
        assert len(result.dialog.messages) == 2
        below = job.descendants()
        assert len(below) == len({it.session_id for it in below}) == 3
        assert job.usage()["team"] == job.children()[0].state().usage
    assert len(installation.calls()) == 20 * 4, "each agent was called once"
