"""Many sessions at once, and one very long one."""

from __future__ import annotations

import itertools
import statistics

import pytest

from symposia.models.stop import MaxTurns

QUIET = """
[agents.quiet]
kind = "scripted"
replies = ["word"]
"""


@pytest.fixture
def quiet_stage(stage):
    file = stage.folder / "agents.toml"
    file.write_text(file.read_text() + QUIET)
    return stage


@pytest.mark.slow
def test_two_hundred_sessions_of_twenty_turns_submitted_at_once_all_complete(quiet_stage, checked):
    quiet_stage.start_workers(2)
    jobs = [
        quiet_stage.submit("round_robin", {"ann": "quiet", "bob": "quiet"}, stop=MaxTurns(20))
        for _ in range(200)
    ]
    for job in jobs:
        result = job.result(timeout=55)
        assert (result.ok, result.turns, len(result.dialog.messages)) == (True, 20, 20)
    checked(jobs[0], jobs[0].result(timeout=1))


@pytest.mark.slow
def test_turn_two_thousand_costs_what_turn_one_costs(quiet_stage):
    """On the wire to the byte; in time within the noise of a busy machine (a cost that grew with the
    dialog would be a factor of hundreds)."""
    quiet_stage.start_workers(1)
    job = quiet_stage.submit("round_robin", {"ann": "quiet", "bob": "quiet"}, stop=MaxTurns(2_000))
    result = job.result(timeout=58)
    assert result.turns == 2_000

    began = [e.timestamp.timestamp() for e in job.events() if e.event_type == "MAPTurnDispatched"]
    gaps = [later - earlier for earlier, later in itertools.pairwise(began)]
    assert statistics.median(gaps[-500:]) < 3 * statistics.median(gaps[:500]) + 0.005
