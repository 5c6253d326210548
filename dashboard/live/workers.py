"""Reads of the workers: which run, which were lost, and when they last took a message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from redis.asyncio import Redis

from ...jobs.conditions import Workers
from ...state.presence import SILENT_MS, parse_entries
from ...state.redis.keys import QUEUE_PROGRESS, WORKERS, lock_key, worker_lease_key
from ...state.sessions.index import MOVED_FIELD, read_moved_ms
from ...state.worker_leases import LEASE_MS

#: Locks per round trip.
_BATCH = 500


class SpeakingTurn(NamedTuple):
    """A turn that runs, as its session says."""

    session_id: str
    number: int
    scope: str
    #: Execution token of its grant.
    token: str
    #: Process that has the grant; None: unknown.
    process: str | None


@dataclass(slots=True)
class WorkerReads:
    """Reader of the workers. It remembers when something was first seen, because Redis does not say that."""

    redis: Redis
    workers: Workers = field(default_factory=Workers)
    #: Name of the worker that was lost last.
    last_lost: str = ""
    #: Processes whose lease is renewed.
    _running: frozenset[str] = frozenset()
    _is_first: bool = True
    #: Since when Redis has answered without a gap, by the server's clock.
    _since_ms: int | None = None
    #: Token of a turn without a lock -> when that was first seen.
    _unlocked: dict[str, int] = field(default_factory=dict)

    def forget_time(self) -> None:
        """Record a gap: Redis did not answer, so leases may have expired although their workers run."""
        self._since_ms = None

    async def read(self, now_ms: int) -> Workers:
        """Return the workers, and keep them.

        Args:
            now_ms: The time by the server's clock, in milliseconds since the epoch.
        """
        client: Any = self.redis
        pipeline: Any = client.pipeline(transaction=False)
        pipeline.hgetall(WORKERS)
        for part in ("leases", "lost"):
            pipeline.zrange(worker_lease_key(part), 0, -1, withscores=True)
        pipeline.hget(QUEUE_PROGRESS, MOVED_FIELD)
        raw, leases, lost, moved = await pipeline.execute()
        if self._since_ms is None:
            self._since_ms = now_ms
        ends = {process: float(end) for process, end in leases}
        self._running = frozenset(process for process, end in ends.items() if end > now_ms)
        gone = self._lost(ends, [process for process, _ in lost], now_ms)
        entries = parse_entries(raw, now_ms)
        alive = frozenset(
            entry.name for entry in entries if entry.age_ms <= SILENT_MS and entry.process not in gone
        )
        heard_ms = max((now_ms - entry.age_ms for entry in entries), default=None)
        self.workers = Workers(
            alive=alive,
            lost=gone,
            none_since_ms=None if alive else self._none_since(now_ms, heard_ms),
            queue_moved_ms=read_moved_ms(moved),
        )
        self._is_first = False
        return self.workers

    def _lost(self, ends: Mapping[str, float], lost: Iterable[str], now_ms: int) -> dict[str, int]:
        """Return the lost processes with the time at which this was first seen."""
        judges = self._since_ms is not None and now_ms - self._since_ms > 2 * LEASE_MS
        gone = {process for process, end in ends.items() if end == 0 or (judges and end < now_ms - LEASE_MS)}
        before = self.workers
        new = gone.union(lost) - before.lost.keys()
        for process in new:
            self.last_lost = process.rpartition("/")[0]
        return {process: before.lost.get(process, now_ms) for process in gone.union(lost)}

    def _none_since(self, now_ms: int, heard_ms: int | None) -> int | None:
        """Return since when no worker runs; None: unknown."""
        if self._is_first:
            return heard_ms
        return now_ms if self.workers.alive else self.workers.none_since_ms

    async def read_leases(self, turns: Iterable[SpeakingTurn], now_ms: int) -> dict[str, dict[int, int]]:
        """Return when the leases of turns end whose worker may be lost: session -> turn -> milliseconds.

        A turn without a lock has lost its lease only if a second read, a second later, finds none either: its session
        may have been read before the turn ended.
        """
        suspects = [turn for turn in turns if turn.process not in self._running]
        unlocked: dict[str, int] = {}
        ends: dict[str, dict[int, int]] = {}
        client: Any = self.redis
        for start in range(0, len(suspects), _BATCH):
            some = suspects[start : start + _BATCH]
            pipeline: Any = client.pipeline(transaction=False)
            for turn in some:
                pipeline.pttl(lock_key(turn.session_id, turn.scope))
            for turn, left_ms in zip(some, await pipeline.execute(), strict=True):
                end_ms = now_ms + left_ms
                if left_ms < 0:
                    unlocked[turn.token] = end_ms = self._unlocked.get(turn.token, now_ms)
                    if end_ms == now_ms:
                        continue
                ends.setdefault(turn.session_id, {})[turn.number] = end_ms
        self._unlocked = unlocked
        return ends
