"""A killed worker costs its turns one lease, and no turn waits for the broker."""

from __future__ import annotations

from random import Random

import pytest

from chaos.recovery import p95, recover, recovery_arena
from chaos.rounds import Pace
from symposia.config.settings import Settings

pytestmark = [pytest.mark.xdist_group("faults-of-workers"), pytest.mark.timeout(180), pytest.mark.long]


def test_turns_of_a_killed_worker_resume_after_its_lease(tmp_path):
    pace = Pace(lease_s=3)
    with recovery_arena(tmp_path, pace=pace) as arena:
        waits = recover(arena, Random(1))
    assert waits, "the worker that was killed was speaking"
    assert p95(waits) <= pace.lease_s + 5


@pytest.mark.soak
def test_recovery_works_with_default_settings(tmp_path):
    defaults = Settings()
    pace = Pace(defaults.lease_s, defaults.redispatch_after_s, defaults.sweep_interval_s)
    with recovery_arena(tmp_path, pace=pace) as arena:
        waits = [wait for seed in range(3) for wait in recover(arena, Random(seed))]
    assert p95(waits) <= defaults.lease_s + 5
