"""What a turn that is asked again can rely on, and how often it is asked."""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random

import pytest

from chaos.arena import Arena, Pace
from chaos.faults import workers
from chaos.plays import round_robin
from sessions.inline_installation import InlineInstallation
from symposia.models.text.ids import new_id
from symposia.state.redis.keys import lock_key
from symposia.state.sessions.requests import Claim
from symposia.tasks.run_turn import TAKEOVERS
from symposia.tasks.runtime.runtime import Boundary

pytestmark = [pytest.mark.xdist_group("faults-of-workers"), pytest.mark.timeout(180), pytest.mark.long]


def test_repeated_turn_keeps_its_effect_id(tmp_path):
    """The worker dies after its agent answered: the effect id tells the agent that the work is done."""
    # Leases that nobody loses who lives: one that is lost is asked for once more.
    with Arena(tmp_path, pace=Pace(lease_s=5)) as arena:
        arena.with_workers(2)
        outcome = arena.run([round_robin(Random(3))], [workers.kill_at(Boundary.BEFORE_COMMIT)])
    assert (outcome.findings, outcome.befell) == ([], [True])
    (calls,) = outcome.calls.values()
    asked, effects = Counter(call.turn for call in calls.values()), defaultdict(set)
    for call in calls.values():
        effects[call.turn].add(call.effect)
    assert max(asked.values()) == 2
    assert all(len(ids) == 1 for ids in effects.values())
    assert len({next(iter(ids)) for ids in effects.values()}) == len(effects), "another turn has another one"


@pytest.mark.parametrize(("then", "reason"), [("skip", "all_turns_failed"), ("abort", "failed")])
def test_turn_that_kills_workers_fails_by_policy(tmp_path, redis_url, then, reason):
    installation = InlineInstallation(
        tmp_path, redis_url, '[agents.deadly]\nkind = "scripted"\nreplies = ["never said"]\n'
    )
    job = installation.submit(
        "round_robin", {"ann": "deadly"}, stop={"max_turns": 1}, policy={"attempts": 1, "then": then}
    )
    installation.deliver()
    store = installation.runtime.store
    for _ in range(TAKEOVERS + 1):
        claim = Claim(1, "floor", new_id(), lease_ms=60_000, timeout_ms=60_000, window=0, task_id=new_id())
        assert store.begin(job.id, claim).word == "granted"
        assert store.client.delete(lock_key(job.id, "floor")), "the worker died, and its lease ran out"
    installation.work()
    assert (job.status(), job.state().reason, list(job.messages())) == ("cancelled", reason, [])
    installation.close()
