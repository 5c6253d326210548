"""What happens to workers: killed, frozen, asked to stop, cut off."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from random import Random

from chaos.arena import Arena, Fault
from chaos.machinery.crew import Member
from chaos.worker.orders import Act
from live import until
from processes.gone import stands_still
from symposia.tasks.runtime.runtime import Boundary


def kill_at(boundary: str) -> Fault:
    """SIGKILL of the process whose turn, or step, gets to the boundary next: a whole worker, or a child of a pool."""

    def fault(arena: Arena, _random: Random) -> bool:
        return arena.carried_out(arena.orders.give(boundary, Act.DIE)) is not None

    return fault


def freeze_at(boundary: Boundary) -> Fault:
    """SIGSTOP at the boundary, SIGCONT once the lease has long run out: a writer that comes late."""

    def fault(arena: Arena, random: Random) -> bool:
        taken = arena.carried_out(arena.orders.give(boundary, Act.FREEZE))
        if taken is None:
            return False
        until(lambda: stands_still(taken.pid), what="it is frozen")
        time.sleep(arena.pace.lease_s * random.uniform(1.2, 2.0))
        with suppress(ProcessLookupError):
            os.kill(taken.pid, signal.SIGCONT)
        return True

    return fault


def late_writer(arena: Arena, _random: Random) -> bool:
    """A turn with all said and nothing written stops until its lease is over and another speaks it; then both write."""
    late = arena.orders.give(Boundary.BEFORE_COMMIT, Act.WAIT)
    first = arena.carried_out(late)
    if first is None:
        return False
    other = arena.orders.give(Boundary.SPEAKING, Act.WAIT, to=first)
    second = arena.carried_out(other)
    late.release()
    if second is not None:
        time.sleep(0.1)  # the late commit comes while the other has the floor
        other.release()
    return second is not None


def kill_all(arena: Arena, random: Random) -> None:
    """SIGKILL of all workers at once."""
    time.sleep(random.uniform(0, 0.5))
    for member in arena.crew.members:
        member.signal(signal.SIGKILL)


def kill_one(arena: Arena, random: Random) -> None:
    """SIGKILL of a worker, wherever its turns are."""
    time.sleep(random.uniform(0, 0.5))
    _anyone(arena, random).signal(signal.SIGKILL)


def stop_warm(arena: Arena, random: Random) -> None:
    """SIGTERM: turns under way are finished."""
    time.sleep(random.uniform(0, 0.5))
    _anyone(arena, random).signal(signal.SIGTERM, group=False)


def stop_twice(arena: Arena, random: Random) -> None:
    """Send SIGTERM and then SIGQUIT."""
    member = _anyone(arena, random)
    member.signal(signal.SIGTERM, group=False)
    time.sleep(random.uniform(0, 0.2))
    member.signal(signal.SIGQUIT, group=False)


def rolling_restart(arena: Arena, _random: Random) -> None:
    """Each worker is asked to stop when the one before is back."""
    for member in arena.crew.members:
        lives = member.lives
        member.signal(signal.SIGTERM, group=False)
        member.wait_reborn(lives)


def restart_in_wrong_folder(arena: Arena, random: Random) -> None:
    """A worker comes back without the agents of the sessions, beside one that has them and is killed meanwhile."""
    (other := arena.folder / "other.toml").touch()
    strange, *right = random.sample(arena.crew.members, len(arena.crew.members))
    lives, strange.environment = strange.lives, {"SYMPOSIA_AGENTS_FILE": str(other)}
    strange.signal(signal.SIGKILL)
    strange.wait_reborn(lives)
    for member in right:
        lives = member.lives
        member.signal(signal.SIGKILL)
        member.wait_reborn(lives)
    lives, strange.environment = strange.lives, {}
    strange.signal(signal.SIGKILL)
    strange.wait_reborn(lives)


def lost_in_the_pop(arena: Arena, random: Random) -> None:
    """A worker stops between taking a message and noting that it did; the message is gone with it."""
    member = _anyone(arena, random)
    member.signal(signal.SIGSTOP)
    time.sleep(random.uniform(0.1, 0.5))
    member.signal(signal.SIGKILL)


def cut_off(arena: Arena, random: Random) -> None:
    """A worker's network goes silent for longer than a lease, and comes back with all that was under way."""
    wire = random.choice(arena.wires)
    wire.silence()
    time.sleep(arena.pace.lease_s * random.uniform(1.2, 2.0))
    wire.mend()


def connections_cut(arena: Arena, random: Random) -> None:
    """All connections of all workers break, a few times."""
    for _ in range(random.randint(1, 4)):
        time.sleep(random.uniform(0, 0.5))
        for wire in arena.wires:
            wire.cut()


def answers_lost(arena: Arena, random: Random) -> None:
    """For a while, and until it happened, every third answer of a script is lost after the server has acted."""
    before = sum(wire.lost for wire in arena.wires)
    for wire in arena.wires:
        wire.loses = 0.33
    with suppress(AssertionError):
        until(lambda: sum(wire.lost for wire in arena.wires) > before + 10, timeout_s=random.uniform(1, 2))
    with suppress(AssertionError):
        until(lambda: sum(wire.lost for wire in arena.wires) > before)
    for wire in arena.wires:
        wire.loses = 0.0


def _anyone(arena: Arena, random: Random) -> Member:
    return random.choice(arena.crew.members)
