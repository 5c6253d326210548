"""The fault suite: one arena per test process, whose workers get one fault after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest

from chaos.arena import Arena, Fault
from chaos.plays import MODES, plays
from chaos.rounds import Round

#: Number of sessions in a round of the short suite: two of each mode.
SESSIONS = 2 * len(MODES)


@pytest.fixture(scope="session")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """A durable server, a worker of threads and one of child processes."""
    with Arena(tmp_path_factory.mktemp("arena")) as arena:
        arena.crew.start([arena.member("threads"), arena.member("children", "--pool", "processes")])
        yield arena


@pytest.fixture
def survives(arena: Arena) -> Callable[..., Round]:
    """Runs sessions of all modes through faults; fails with every difference from what should have come of them."""

    def run(*faults: Fault, sessions: int = SESSIONS, on: Arena = arena, seed: int | None = None) -> Round:
        seed = Random().randrange(10**6) if seed is None else seed
        on.crew.wait_ready()
        outcome = on.run(plays(Random(seed), sessions), faults, seed=seed, timeout_s=30)
        assert not outcome.findings, f"seed {seed}\n" + "\n".join(map(str, outcome.findings[:10]))
        on.crew.wait_ready()  # nobody is started again while others run their tests
        return outcome

    return run
