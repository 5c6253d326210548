"""A required output is given once, by the turn that must give it, whatever befalls its worker."""

from __future__ import annotations

from random import Random

import pytest

from chaos.faults import workers
from chaos.plays import typed
from symposia.tasks.runtime.runtime import Boundary

pytestmark = [pytest.mark.xdist_group("faults-of-workers"), pytest.mark.timeout(180), pytest.mark.long]


@pytest.mark.parametrize("boundary", Boundary)
def test_output_survives_killed_workers(arena, boundary):
    seed = Random().randrange(10**6)
    sessions = [typed(Random(seed + at)) for at in range(9)]
    arena.crew.wait_ready()
    outcome = arena.run(sessions, [workers.kill_at(boundary)] * 2, seed=seed, timeout_s=30)
    assert (outcome.findings, outcome.befell) == ([], [True, True]), f"seed {seed}"
    arena.crew.wait_ready()
