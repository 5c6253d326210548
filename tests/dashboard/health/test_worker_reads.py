"""Which workers run, which were lost, and whose leases have ended, on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from symposia.dashboard.live.workers import SpeakingTurn, WorkerReads
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import aconnect, connect
from symposia.state.redis.keys import WORKERS, lock_key, worker_lease_key
from symposia.state.redis.readers import server_ms
from symposia.state.worker_leases import LEASE_MS

LEASES = worker_lease_key("leases")


def run(redis_url: str, read: Callable[[WorkerReads], Awaitable[None]]) -> None:
    async def main() -> None:
        redis = aconnect(redis_url)
        try:
            await read(WorkerReads(redis))
        finally:
            await redis.aclose()
            with connect(redis_url) as client:
                client.delete(LEASES, WORKERS)

    asyncio.run(main())


def test_worker_that_was_seen_to_end_is_lost_at_once(redis_url: str):
    async def read(reads: WorkerReads) -> None:
        with connect(redis_url) as client:
            now_ms = server_ms(client)
            presence = WorkerPresence(client)
            presence.announce("w1@here", ["say"], process="w1@here/1")
            presence.announce("w2@here", ["say"])
            client.zadd(LEASES, {"w1@here/1": now_ms + 5_000})
            assert (await reads.read(now_ms)).alive == {"w1@here", "w2@here"}
            client.zadd(LEASES, {"w1@here/1": 0})
            workers = await reads.read(now_ms + 1_000)
            assert (workers.alive, workers.lost) == ({"w2@here"}, {"w1@here/1": now_ms + 1_000})
            presence.leave("w2@here")
            workers = await reads.read(now_ms + 2_000)
            assert (workers.alive, workers.none_since_ms) == (frozenset(), now_ms + 2_000)
            assert (await reads.read(now_ms + 3_000)).none_since_ms == now_ms + 2_000
            assert reads.last_lost == "w1@here"

    run(redis_url, read)


def test_expired_lease_is_a_loss_only_while_redis_answers(redis_url: str):
    async def read(reads: WorkerReads) -> None:
        with connect(redis_url) as client:
            now_ms = server_ms(client)
            client.zadd(LEASES, {"w1@here/1": now_ms - 2 * LEASE_MS})
            assert (await reads.read(now_ms)).lost == {}
            later_ms = now_ms + 2 * LEASE_MS + 1
            assert (await reads.read(later_ms)).lost == {"w1@here/1": later_ms}
            reads.forget_time()
            assert (await reads.read(later_ms + 1)).lost == {}

    run(redis_url, read)


def test_turn_without_a_lock_has_lost_its_lease_at_the_second_read(redis_url: str):
    async def read(reads: WorkerReads) -> None:
        with connect(redis_url) as client:
            now_ms = server_ms(client)
            client.zadd(LEASES, {"w1@here/1": now_ms + 60_000})
            client.set(lock_key("a", "floor"), "t1", px=20_000)
            await reads.read(now_ms)
            turns = [
                SpeakingTurn("a", 1, "floor", "t1", None),
                SpeakingTurn("b", 2, "floor", "t2", "w0@here/1"),
                SpeakingTurn("c", 3, "floor", "t3", "w1@here/1"),
            ]
            first, second = [await reads.read_leases(turns, now_ms + later) for later in (0, 1_000)]
            assert first.keys() == {"a"}
            assert now_ms < first["a"][1] <= now_ms + 20_000
            assert (second.keys(), second["b"]) == ({"a", "b"}, {2: now_ms})

    run(redis_url, read)
