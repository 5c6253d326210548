"""A suite that finds nothing may be blind: each rule of the product is taken out once, and must be missed."""

from __future__ import annotations

from random import Random

import pytest

from chaos.arena import Arena
from chaos.faults import redis, workers
from chaos.faults.defects import DEFECTS
from chaos.plays import broadcast, plays, round_robin, waiting_plays
from chaos.rounds import Pace
from chaos.waiting import run_waiting
from symposia.tasks.runtime.runtime import Boundary

pytestmark = [pytest.mark.xdist_group("planted-defects"), pytest.mark.timeout(180), pytest.mark.long]

#: A defect may need a race to be seen; it gets a few.
ROUNDS = 5


@pytest.fixture
def found(tmp_path):
    """Runs rounds on workers with a defect until the suite finds something; answers the kinds of what it found."""

    def run(defect, faults, *, kind=None, pace=None, timeout_s=20.0, rounds=ROUNDS):
        with Arena(tmp_path, defect=defect, courier=True, pace=pace) as arena:
            arena.with_workers(2)
            for seed in range(rounds):
                random = Random(seed)
                sessions = [kind(random) for _ in range(12)] if kind else plays(random, 18)
                outcome = arena.run(sessions, faults, seed=seed, think_ms=50, timeout_s=timeout_s)
                if outcome.findings:
                    return {finding.kind for finding in outcome.findings}
        return set()

    return run


def test_missing_token_check_is_found(found):
    assert "fence" in found("no token check", [workers.late_writer], kind=round_robin)


def test_missing_sweep_is_found(found):
    faults = [redis.queue_deleted, workers.kill_at(Boundary.SPEAKING)]
    assert "stuck" in found("no sweep", faults, kind=round_robin, timeout_s=8)


def test_missing_turn_dedupe_is_found(found):
    assert "doubled" in found("no turn dedupe", [redis.tripled], kind=broadcast, timeout_s=10)


def test_missing_owner_check_is_found(found):
    assert "fence" in found("release without owner check", [workers.late_writer], kind=round_robin)


def test_missing_compare_and_set_is_found(found):
    assert found("plan without compare-and-set", [redis.tripled]) & {"order", "fence", "doubled"}


def test_dispatch_before_commit_is_found(found):
    late = Pace(lease_s=5, grace_s=60)
    assert "stuck" in found("dispatch before commit", [], kind=round_robin, pace=late, timeout_s=10)


def test_missing_watermark_is_found(tmp_path):
    with Arena(tmp_path, defect="messages sent again while they wait") as arena:
        outcome = run_waiting(arena.with_workers(2), waiting_plays(Random(1), 60), [], seed=1)
    assert {finding.kind for finding in outcome.findings} == {"queue"}


def test_rounds_without_a_defect_find_nothing(found):
    """What the defects are found by does not find anything in their absence."""
    assert not found("", [workers.late_writer, redis.tripled, redis.queue_deleted], timeout_s=30, rounds=2)


def test_defect_count_matches_the_tests():
    assert len(DEFECTS) == 1 + 7
