"""What happens to the server: killed, frozen, full, read-only, forgetful; and to the messages that it carries."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from random import Random
from uuid import uuid4

from redis import Redis

from chaos.arena import Arena, Fault
from chaos.audit.archived import FILE
from chaos.machinery.courier import DELIVERED, SENT, Courier, Manners
from chaos.worker.orders import Act
from live import until
from scaling import patient
from symposia.tasks.runtime.runtime import Boundary


def server_killed(arena: Arena, random: Random) -> None:
    """SIGKILL, and a start on what the append-only file holds."""
    with arena.at_server:
        time.sleep(random.uniform(0, 0.5))
        arena.server.kill()
        time.sleep(random.uniform(0, 0.5))
        arena.server.start()


def server_frozen(arena: Arena, random: Random, *, for_s: float | None = None) -> None:
    """It neither answers nor hangs up, for longer than a lease."""
    with arena.at_server:
        arena.server.freeze()
        time.sleep(for_s or random.uniform(0.5, 2.5))
        arena.server.thaw()


def clients_killed(arena: Arena, random: Random) -> None:
    """CLIENT KILL of everybody, in a loop."""
    end = time.monotonic() + random.uniform(0.5, 1.5)
    while time.monotonic() < end:
        arena.insist(lambda: arena.server.client.execute_command("CLIENT", "KILL", "TYPE", "normal"))
        time.sleep(random.uniform(0, 0.1))


def memory_full(arena: Arena, random: Random) -> None:
    """`maxmemory` is reached, and nothing may be evicted: every write is refused for a while."""
    with arena.at_server:
        redis = arena.server.client
        try:
            arena.insist(lambda: redis.config_set("maxmemory", "1mb"))
            time.sleep(random.uniform(0.3, 1.0))
        finally:
            arena.insist(lambda: redis.config_set("maxmemory", "0"))


def read_only(arena: Arena, random: Random) -> None:
    """The server becomes a replica, of a master that is not there, and then a master again."""
    with arena.at_server:
        redis = arena.server.client
        try:
            arena.insist(lambda: redis.execute_command("REPLICAOF", "127.0.0.1", "1"))
            time.sleep(random.uniform(0.3, 1.0))
        finally:
            arena.insist(lambda: redis.execute_command("REPLICAOF", "NO", "ONE"))


def archive_locked(arena: Arena, random: Random) -> bool:
    """Lock the database of the archive for a while, so that nothing is written to it."""
    if not (arena.folder / FILE).exists():
        return False
    with closing(sqlite3.connect(arena.folder / FILE, isolation_level=None, timeout=patient(30))) as sql:
        sql.execute("BEGIN EXCLUSIVE")
        time.sleep(random.uniform(1, 2))
        sql.execute("ROLLBACK")
    return True


def scripts_flushed(arena: Arena, random: Random) -> None:
    """SCRIPT FLUSH, again and again."""
    for _ in range(random.randint(3, 10)):
        arena.insist(arena.server.client.script_flush)
        time.sleep(random.uniform(0, 0.2))


def queue_deleted(arena: Arena, random: Random) -> None:
    """The queue disappears."""
    time.sleep(random.uniform(0, 0.5))
    arena.insist(lambda: arena.server.client.delete(SENT, DELIVERED))


def tripled(arena: Arena, random: Random) -> None:
    """For a while, and until it happened, every message comes three times, and none in its place."""
    courier = _courier(arena)
    before, courier.manners = courier.copied, Manners(copies=3, shuffles_s=random.uniform(0, 0.3))
    time.sleep(random.uniform(1, 2))
    with suppress(AssertionError):
        until(lambda: courier.copied > before)
    courier.manners = Manners()


def lossy(arena: Arena, random: Random) -> None:
    """One message in ten never arrives."""
    courier = _courier(arena)
    courier.manners = Manners(loses=0.1)
    time.sleep(random.uniform(1, 2))
    courier.manners = Manners()


def _courier(arena: Arena) -> Courier:
    assert arena.courier is not None, "this arena has no courier"
    return arena.courier


def tampered(change: Callable[[Redis, str], None]) -> Fault:
    """Before a turn commits its session is changed, as by a server that has lost its last writes."""

    def fault(arena: Arena, _random: Random) -> bool:
        order = arena.orders.give(Boundary.BEFORE_COMMIT, Act.WAIT)
        taken = arena.carried_out(order)
        if taken is None:
            return False
        arena.tampered.add(taken.session)
        arena.insist(lambda: change(arena.server.client, taken.session))
        order.release()
        return True

    return fault


def another_token(redis: Redis, session: str) -> None:
    """Replace the token of a lock of the session; the lease continues."""
    for key in redis.scan_iter(f"symposia:{{{session}}}:lock:*", count=1_000):
        if deadline := str(redis.get(key)).partition("|")[2]:
            redis.set(key, f"{uuid4()}|{deadline}", keepttl=True, xx=True)


def lower_fence(redis: Redis, session: str) -> None:
    """Lower the fencing number so that the next one is reused."""
    redis.hset(f"symposia:{{{session}}}:session", "fence", 0)
