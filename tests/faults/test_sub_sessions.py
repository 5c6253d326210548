"""Workers that are killed between a session and its sub-sessions lose nothing, and double nothing."""

from __future__ import annotations

from random import Random

import pytest

from chaos.faults import people, workers
from chaos.plays import nested
from symposia.tasks.runtime.runtime import Boundary

pytestmark = [pytest.mark.xdist_group("faults-of-workers"), pytest.mark.timeout(180), pytest.mark.long]


@pytest.fixture
def survives_nested(arena):
    """Runs sessions with sub-sessions, and nothing else, through faults."""

    def run(*faults, sessions=6):
        seed = Random().randrange(10**6)
        arena.crew.wait_ready()
        outcome = arena.run(
            [nested(Random(seed + i)) for i in range(sessions)], faults, seed=seed, timeout_s=45
        )
        assert not outcome.findings, f"seed {seed}\n" + "\n".join(map(str, outcome.findings[:10]))
        return outcome

    return run


@pytest.mark.parametrize("boundary", Boundary)
def test_killed_worker_loses_and_doubles_nothing(survives_nested, boundary):
    assert survives_nested(*[workers.kill_at(boundary)] * 2).befell == [True, True]


@pytest.mark.parametrize(
    "boundary", [Boundary.AFTER_PARK, Boundary.AFTER_OPEN, Boundary.BEFORE_ANSWER, Boundary.BEFORE_COMMIT]
)
def test_frozen_worker_loses_and_doubles_nothing(survives_nested, boundary):
    assert survives_nested(workers.freeze_at(boundary)).befell == [True]


def test_suspended_and_resumed_trees_come_through(survives_nested):
    survives_nested(people.suspend_and_resume, people.suspend_and_resume)


def test_cancelled_trees_leave_nothing_running(survives_nested):
    survives_nested(people.cancel, workers.kill_one, people.cancel)
