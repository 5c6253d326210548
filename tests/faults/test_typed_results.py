"""A required output is given once, by the turn that must give it, whatever happens to its worker."""

from __future__ import annotations

from random import Random

import pytest

from chaos.faults import workers
from chaos.plays import typed
from symposia.tasks.runtime.runtime import Boundary

pytestmark = [pytest.mark.xdist_group("faults-of-workers"), pytest.mark.timeout(180), pytest.mark.long]


#: Those of every turn; the others are those of sub-sessions.
BOUNDARIES = [
    it for it in Boundary if it not in (Boundary.AFTER_PARK, Boundary.AFTER_OPEN, Boundary.BEFORE_ANSWER)
]


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_output_survives_killed_workers(arena, boundary):
    seed = Random().randrange(10**6)
    sessions = [typed(Random(seed + at)) for at in range(9)]
    arena.crew.wait_ready()
    outcome = arena.run(sessions, [workers.kill_at(boundary)] * 2, seed=seed, timeout_s=30)
    assert (outcome.findings, outcome.befell) == ([], [True, True]), f"seed {seed}"
    arena.crew.wait_ready()


def test_first_answer_is_billed_once_if_its_worker_loses_the_turn(arena):
    seed = Random().randrange(10**6)
    sessions = [typed(Random(seed + at), is_short=True) for at in range(9)]
    arena.crew.wait_ready()
    outcome = arena.run(sessions, [workers.freeze_at(Boundary.BEFORE_COMMIT)], seed=seed, timeout_s=30)
    assert (outcome.findings, outcome.befell) == ([], [True]), f"seed {seed}"
    arena.crew.wait_ready()
