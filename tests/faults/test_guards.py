"""A guard and an approval hold, and each hit is recorded once, also if workers die or freeze."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from chaos.faults import workers
from chaos.plays import guarded
from symposia.tasks.runtime.runtime import Boundary

pytestmark = [pytest.mark.xdist_group("faults-of-workers"), pytest.mark.timeout(180), pytest.mark.long]

#: Those of every turn; the others are those of sub-sessions.
BOUNDARIES = [
    it for it in Boundary if it not in (Boundary.AFTER_PARK, Boundary.AFTER_OPEN, Boundary.BEFORE_ANSWER)
]
FAULTS = [(workers.kill_at, it) for it in BOUNDARIES] + [(workers.freeze_at, it) for it in BOUNDARIES[:4]]


@pytest.mark.parametrize(("fault", "boundary"), FAULTS)
def test_guards_survive_killed_and_frozen_workers(arena, fault, boundary):
    seed = Random().randrange(10**6)
    sessions = [guarded(Random(seed + at)) for at in range(6)]
    arena.crew.wait_ready()
    outcome = arena.run(sessions, [fault(boundary)] * 2, seed=seed, timeout_s=30)
    assert (outcome.findings, outcome.befell) == ([], [True, True]), f"seed {seed}"
    for play in sessions:
        assert hits_of(arena, play) == expected_hits(play), f"seed {seed}"
    arena.crew.wait_ready()


def hits_of(arena, play):
    events = arena.client.get_job(play.id).collab().events
    hits = [event.data for event in events if event.event_type == "guard.hit"]
    return Counter((it["turn_number"], it["guard"], it["action"]) for it in hits)


def expected_hits(play):
    turns = [at for at, group in enumerate(play.script.groups, 1) if group == ("bob",)]
    effects = (("corrected", "ask_again"), ("approved", "park"))
    return Counter((turn, *effect) for turn in turns for effect in effects)
