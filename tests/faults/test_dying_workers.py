"""Workers are killed, frozen, stopped and cut off at every step of a turn: nothing is lost, doubled, or out of order."""

from __future__ import annotations

import signal
from contextlib import suppress
from random import Random

import pytest

from chaos.faults import workers
from chaos.plays import linked_swarm
from chaos.worker.orders import Act
from live import until
from symposia.tasks.runtime.runtime import Boundary

pytestmark = [pytest.mark.xdist_group("faults-of-workers"), pytest.mark.timeout(180), pytest.mark.long]


@pytest.mark.parametrize("boundary", Boundary)
def test_sessions_survive_killed_and_frozen_workers(survives, boundary):
    assert survives(workers.kill_at(boundary), workers.freeze_at(boundary)).befell == [True, True]


def test_sessions_survive_the_death_of_all_workers(arena, survives):
    lives = [member.lives for member in arena.crew.members]
    survives(workers.kill_all)
    assert all(m.lives > before for m, before in zip(arena.crew.members, lives, strict=True))


def test_sessions_survive_rolling_restarts(arena, survives):
    lives = [member.lives for member in arena.crew.members]
    survives(workers.rolling_restart)
    survives(workers.stop_warm, workers.stop_twice)
    assert all(m.lives > before for m, before in zip(arena.crew.members, lives, strict=True))


@pytest.mark.timeout(400)
def test_sessions_survive_a_worker_in_the_wrong_folder(arena, survives):
    """Its agents file has none of their agents."""
    for _ in range(5):  # until it takes a message of one of their turns
        survives(workers.restart_in_wrong_folder)
        if any("handed on" in it.read_text(errors="replace") for it in arena.folder.glob("*.log")):
            return
    raise AssertionError("the worker in the wrong folder took no turn")


def test_sessions_survive_a_worker_without_network(survives):
    survives(workers.cut_off)


def test_late_writer_is_refused_and_recorded(arena, survives):
    """Frozen with all said and nothing written, it wakes up when its turn has long been given to another."""
    refused = 0
    for _ in range(5):
        refused = survives(*[workers.freeze_at(Boundary.BEFORE_COMMIT)] * 2).refused
        if refused:
            break
    assert refused


def test_message_lost_in_the_pop_is_resent(arena, survives):
    """Idle workers are stopped with their pops pending; one takes a message without knowing, and dies with it."""
    lost = []

    def message_is_taken_by_the_dead(arena, _random):
        redis = arena.server.client
        with suppress(AssertionError):  # no pop was pending: another try
            until(lambda: arena.ids and not redis.llen("symposia"), timeout_s=2)
            lost.append(arena.ids[0])
        for member in arena.crew.members:
            member.signal(signal.SIGKILL if lost else signal.SIGCONT)

    for _ in range(10):
        arena.crew.wait_ready()
        for member in arena.crew.members:
            member.signal(signal.SIGSTOP)
        survives(message_is_taken_by_the_dead, sessions=1)
        if lost:
            break
    assert lost


def test_fault_order_is_carried_out_once(arena, survives):
    order = arena.orders.give(Boundary.SPEAKING, Act.WAIT)

    def waits(arena, _random):
        taken = arena.carried_out(order)
        assert taken is not None
        # Its turn may be there before who submitted it has noted its id.
        until(lambda: taken.session in {*arena.ids, *arena.below}, what="it is one of this round")
        order.release()

    survives(waits)


@pytest.mark.parametrize("boundary", [Boundary.AFTER_BEGIN, Boundary.BEFORE_COMMIT, Boundary.AFTER_COMMIT])
def test_reducer_closes_the_board_once_after_kills(arena, boundary):
    plays = [linked_swarm(Random(f"{boundary}{number}")) for number in range(6)]
    arena.crew.wait_ready()
    outcome = arena.run(plays, [workers.kill_at(boundary)] * 3, seed=1, timeout_s=30)
    assert not outcome.findings, "\n".join(map(str, outcome.findings[:10]))
    arena.crew.wait_ready()
