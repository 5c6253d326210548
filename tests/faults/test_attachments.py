"""Each message has its own file, once, also if its worker dies or freezes."""

from __future__ import annotations

from random import Random

import pytest

from chaos.faults import workers
from chaos.plays import drawn
from symposia.tasks.runtime.runtime import Boundary

pytestmark = [pytest.mark.xdist_group("faults-of-workers"), pytest.mark.timeout(180), pytest.mark.long]


def check_files(arena, sessions):
    for play in sessions:
        for message in arena.client.get_job(play.id).dialog().messages:
            (file,) = message.attachments
            assert (
                arena.client.get_job(play.id).attachment_data(file)
                == f"{message.content}\x00".encode() * 1_000
            )


@pytest.mark.parametrize("boundary", [Boundary.SPEAKING, Boundary.BEFORE_COMMIT, Boundary.AFTER_COMMIT])
def test_files_survive_killed_workers(arena, boundary):
    seed = Random().randrange(10**6)
    sessions = [drawn(Random(seed + at)) for at in range(9)]
    arena.crew.wait_ready()
    outcome = arena.run(sessions, [workers.kill_at(boundary)] * 2, seed=seed, timeout_s=30)
    assert (outcome.findings, outcome.befell) == ([], [True, True]), f"seed {seed}"
    check_files(arena, sessions)
    arena.crew.wait_ready()


def test_file_of_a_stale_worker_is_in_no_message(arena):
    seed = Random().randrange(10**6)
    sessions = [drawn(Random(seed + at)) for at in range(9)]
    arena.crew.wait_ready()
    outcome = arena.run(sessions, [workers.freeze_at(Boundary.BEFORE_COMMIT)], seed=seed, timeout_s=30)
    assert (outcome.findings, outcome.befell) == ([], [True]), f"seed {seed}"
    check_files(arena, sessions)
    arena.crew.wait_ready()
