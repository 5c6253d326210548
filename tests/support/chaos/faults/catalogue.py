"""The catalogue: every fault by name, and how each part of it counts. Short tests and the soak choose from here."""

from __future__ import annotations

from collections.abc import Iterable

from chaos.arena import Fault
from chaos.faults import people, rabbit, redis, workers
from chaos.worker.orders import STEP, STEP_BOUNDARIES
from symposia.tasks.runtime.runtime import Boundary

FAULTS: dict[str, Fault] = {
    **{f"worker killed, {boundary}": workers.kill_at(boundary) for boundary in Boundary},
    **{f"worker killed, {STEP}{name}": workers.kill_at(STEP + name) for name in STEP_BOUNDARIES},
    **{f"worker frozen beyond its lease, {boundary}": workers.freeze_at(boundary) for boundary in Boundary},
    "late writer while another speaks": workers.late_writer,
    "worker killed anywhere": workers.kill_one,
    "all workers killed": workers.kill_all,
    "warm shutdown": workers.stop_warm,
    "warm shutdown cut short": workers.stop_twice,
    "rolling restart": workers.rolling_restart,
    "worker restarted in the wrong folder": workers.restart_in_wrong_folder,
    "message lost in the pop": workers.lost_in_the_pop,
    "network of a worker silent": workers.cut_off,
    "connections cut": workers.connections_cut,
    "answers lost": workers.answers_lost,
    "server killed": redis.server_killed,
    "server frozen": redis.server_frozen,
    "clients killed": redis.clients_killed,
    "memory full": redis.memory_full,
    "server read-only": redis.read_only,
    "archive locked": redis.archive_locked,
    "scripts flushed": redis.scripts_flushed,
    "queue deleted": redis.queue_deleted,
    "messages tripled and shuffled": redis.tripled,
    "messages lost": redis.lossy,
    "lock with another token": redis.tampered(redis.another_token),
    "fencing number lowered": redis.tampered(redis.lower_fence),
    "suspended and resumed": people.suspend_and_resume,
    "cancelled": people.cancel,
    "sweeps at once": people.sweeps_at_once,
    "broker restarted": rabbit.broker_restarted,
    "connections to the broker closed": rabbit.connections_closed,
    "queue of the broker deleted": rabbit.queue_deleted,
}

#: Faults of messages that Redis carries, and of RabbitMQ: no arena has both.
_OF_REDIS_QUEUES = frozenset(
    {"message lost in the pop", "queue deleted", "messages tripled and shuffled", "messages lost"}
)
_OF_RABBIT = frozenset(
    {"broker restarted", "connections to the broker closed", "queue of the broker deleted"}
)
#: Faults that put messages of their own into the queue: a resume sends all again, another worker gets one more.
_ADDING = frozenset(
    {"messages tripled and shuffled", "suspended and resumed", "worker restarted in the wrong folder"}
)


def faults_for(names: Iterable[str], *, rabbit: bool, counted: bool = False) -> list[str]:
    """Return the faults possible with RabbitMQ or with Redis as the broker; `counted`: messages are counted."""
    impossible = _OF_REDIS_QUEUES if rabbit else _OF_RABBIT
    return [name for name in names if name not in impossible and not (counted and name in _ADDING)]
