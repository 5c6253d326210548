"""The server is killed, frozen, full, read-only or out of reach, and messages come three times or never."""

from __future__ import annotations

from functools import partial

import pytest

from chaos.arena import Arena
from chaos.faults import redis, workers
from chaos.machinery.sentinel import replicated

pytestmark = [pytest.mark.xdist_group("faults-of-redis"), pytest.mark.timeout(180), pytest.mark.long]


@pytest.fixture(scope="module")
def post(tmp_path_factory):
    """An arena whose messages are carried by a courier with manners of his own."""
    with Arena(tmp_path_factory.mktemp("post"), courier=True) as arena:
        yield arena.with_workers(2)


def test_sessions_survive_a_killed_server(survives):
    survives(redis.server_killed)


def test_sessions_survive_a_frozen_server(survives):
    survives(partial(redis.server_frozen, for_s=10))


def test_sessions_survive_lost_connections_and_scripts(survives):
    survives(workers.connections_cut, redis.clients_killed, redis.scripts_flushed)


@pytest.fixture
def without_a_restart(arena):
    """Fail if a worker ended: no worker may need a restart."""
    arena.crew.wait_ready()
    lives = [member.lives for member in arena.crew.members]
    yield
    assert [member.lives for member in arena.crew.members] == lives


def test_sessions_survive_a_full_server(survives, without_a_restart):
    survives(redis.memory_full)


def test_sessions_survive_a_read_only_server(survives, without_a_restart):
    survives(redis.read_only)


def test_command_with_a_lost_answer_repeats_safely(arena, survives):
    before = sum(wire.lost for wire in arena.wires)
    survives(workers.answers_lost)
    assert sum(wire.lost for wire in arena.wires) > before


def test_sweep_refills_a_lost_queue(survives):
    survives(redis.queue_deleted)


def test_changed_lock_token_refuses_the_old_holder(survives):
    # A turn that nobody waits for any more, as others have answered, is dropped and not refused.
    assert any(survives(redis.tampered(redis.another_token)).refused for _ in range(5))


def test_lowered_fencing_number_admits_no_late_writer(survives):
    survives(redis.tampered(redis.lower_fence))


def test_tripled_messages_take_effect_once(post, survives):
    survives(redis.tripled, on=post)
    assert post.courier.copied


def test_messages_that_never_arrive_are_resent(post, survives):
    survives(redis.lossy, redis.lossy, on=post)


def test_sessions_survive_a_failover_to_a_replica(tmp_path, survives):
    with Arena(tmp_path) as arena, replicated(arena.with_workers(2)) as pair:
        survives(pair.fail_over, on=arena)
