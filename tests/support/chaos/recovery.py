"""How long a turn waits when its worker is killed, or its machine is lost, with the lease at its default.

Sessions speak all at once behind a gate; one worker is killed with its turns in its mouth; what
counts is the time until each of those turns is begun again by somebody else.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from chaos.arena import Arena
from chaos.audit.evidence import Evidence
from chaos.plays import gated
from chaos.rounds import Pace
from live import until

#: Turns that one worker runs side by side here.
CONCURRENCY = 8


@contextmanager
def recovery_arena(folder: Path, *, pace: Pace) -> Iterator[Arena]:
    """An arena in which two workers share the turns evenly."""
    with Arena(folder, pace=pace, concurrency=CONCURRENCY) as arena:
        yield arena.with_workers(2)


def recover(arena: Arena, random: Random, *, with_heartbeat: bool = False) -> list[float]:
    """Kill a worker during its turns and return the seconds until each turn began again.

    `with_heartbeat`: its heartbeat process ends at once with it, as when the machine is lost.
    """
    arena.crew.wait_ready()
    gate = arena.folder / "gate"
    gate.unlink(missing_ok=True)
    sessions = [gated(random) for _ in range(2 * CONCURRENCY)]
    killed_at: list[int] = []

    def kill_one_in_the_middle(arena: Arena, _random: Random) -> None:
        until(lambda: len(_lines(arena.log)) >= len(sessions), timeout_s=60, what="all turns are spoken")
        seconds, micros = arena.server.client.time()
        killed_at.append(int(seconds) * 1000 + int(micros) // 1000)
        killed = arena.crew.members[0]
        pids = heartbeats(killed.pid) if with_heartbeat else []
        killed.signal(signal.SIGSTOP)  # or it would start another one
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        killed.signal(signal.SIGKILL)
        gate.touch()

    timeout_s = 60 + 4 * arena.pace.lease_s
    gated_by = {"gate": str(gate)}
    outcome = arena.run(sessions, [kill_one_in_the_middle], parameters=gated_by, timeout_s=timeout_s)
    assert not outcome.findings, outcome.findings
    return [wait for evidence in outcome.evidence.values() for wait in _waits_s(evidence, killed_at[0])]


def percentile(values: list[float], percent: int) -> float:
    """The value that `percent` of 100 are not above."""
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]


def heartbeats(worker: int) -> list[int]:
    """Ids of the heartbeat processes of a worker."""
    listed = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(worker)], check=False, capture_output=True, text=True
    )
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if "heartbeat/program.py" in line]


def _waits_s(evidence: Evidence, killed_ms: int) -> Iterator[float]:
    expired = {closing.number for closing in evidence.closings if closing.outcome == "expired"}
    for number in expired:
        again = [
            grant.at_ms for grant in evidence.grants if grant.number == number and grant.at_ms > killed_ms
        ]
        if again:  # else it changed hands before the kill
            yield (again[0] - killed_ms) / 1000


def _lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []
