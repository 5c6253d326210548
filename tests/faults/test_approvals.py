"""No call runs without an approval, and no approved call is lost or made twice, also if workers die or freeze."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from chaos.arena import Arena
from chaos.faults import workers
from chaos.people import UNWANTED
from chaos.plays import paying
from chaos.worker.payments import REGISTRY, PayingModel
from symposia.tasks.runtime.runtime import Boundary

pytestmark = [pytest.mark.xdist_group("faults-of-workers"), pytest.mark.timeout(180), pytest.mark.long]

#: Those of every turn; the others are those of sub-sessions.
BOUNDARIES = [
    it for it in Boundary if it not in (Boundary.AFTER_PARK, Boundary.AFTER_OPEN, Boundary.BEFORE_ANSWER)
]
#: While one of two workers is frozen, the other may end all sessions.
FAULTS = [
    *([workers.kill_at(it)] * 2 for it in BOUNDARIES),
    *([workers.freeze_at(it)] for it in BOUNDARIES[:4]),
]
NAMES = [f"{kind}-{it}" for kind, part in (("kill", BOUNDARIES), ("freeze", BOUNDARIES[:4])) for it in part]


@pytest.fixture(scope="module")
def paying_arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """An arena whose model calls a tool that needs an approval."""
    folder = tmp_path_factory.mktemp("paying")
    with PayingModel() as model, Arena(folder, registry=REGISTRY.format(url=model.url)) as arena:
        yield arena.with_workers()


@pytest.mark.parametrize("faults", FAULTS, ids=NAMES)
def test_approvals_survive_killed_and_frozen_workers(paying_arena, faults):
    arena, seed = paying_arena, Random().randrange(10**6)
    sessions = [paying(Random(seed + at)) for at in range(6)]
    arena.crew.wait_ready()
    outcome = arena.run(sessions, faults, seed=seed, timeout_s=60)
    assert (outcome.findings, outcome.befell) == ([], [True] * len(faults)), f"seed {seed}"
    for play in sessions:
        # Other threads of the worker may be in a call.
        check_payments(arena, play, repeated=len(faults))
    arena.crew.wait_ready()


def check_payments(arena, play, *, repeated):
    """Each turn has one approved call, which only dying workers repeat, and one refused call."""
    turns = range(1, len(play.script.groups) + 1)
    job = arena.client.get_job(play.id)
    answered = [it.data for it in job.collab().events if it.event_type == "turn.answered"]
    decisions = Counter((it["turn_number"], it["tool"], it["decision"], it["by"]) for it in answered)
    words = ("approve", "refuse")
    assert decisions == Counter((turn, "pay", word, "ann") for turn in turns for word in words)
    paid = [it for it in payments(arena.folder) if it["session"] == play.id]
    assert {it["note"] for it in paid} == {"tea"}
    assert Counter(turn for turn, _ in {(it["turn"], it["effect"]) for it in paid}) == Counter(turns)
    assert len(paid) <= len(turns) + repeated
    said = [message.content for message in job.messages()]
    assert said == ["paid: tea, refused by ann"] * len(turns), UNWANTED


def payments(folder: Path):
    return [json.loads(line) for path in folder.rglob("*.payments") for line in path.read_text().splitlines()]
