"""Turns of a killed worker, or of a lost machine, wait for seconds and not for their leases or the broker."""

from __future__ import annotations

from random import Random

import pytest

from chaos.recovery import percentile, recover, recovery_arena
from chaos.rounds import Pace
from symposia.config.settings import Settings

pytestmark = [pytest.mark.xdist_group("faults-of-workers"), pytest.mark.timeout(180), pytest.mark.long]

DEFAULTS = Settings()
PACE = Pace(DEFAULTS.lease_s, DEFAULTS.redispatch_after_s, DEFAULTS.sweep_interval_s)


def test_turns_of_a_killed_worker_do_not_wait_for_its_lease(tmp_path):
    with recovery_arena(tmp_path, pace=PACE) as arena:
        waits = recover(arena, Random(1))
    assert waits, "the worker that was killed was speaking"
    assert max(waits) < DEFAULTS.lease_s - 5


@pytest.mark.soak
@pytest.mark.parametrize(("with_heartbeat", "within_s"), [(False, 5), (True, 10)])
def test_turns_of_lost_workers_continue_in_time(tmp_path, with_heartbeat, within_s):
    with recovery_arena(tmp_path, pace=PACE) as arena:
        waits = [
            wait for seed in range(5) for wait in recover(arena, Random(seed), with_heartbeat=with_heartbeat)
        ]
    assert percentile(waits, 99) <= within_s
