"""Reader of the changes of all sessions: one blocking XREAD for all unfinished ones, one for those with open pages.

Three loops run on the event loop of Flower. One reads the streams of all unfinished sessions with one XREAD, and
loads the sessions that changed. One reads the streams of sessions whose pages are open, without a pause. The third
finds new sessions in the index, and judges which sessions need attention. In a Redis Cluster, where one command cannot
read streams of several slots, the streams are read in a pipeline several times a second.

When Redis is lost, or a step fails, the loops try again; the rows in memory stay. `health` says how old they are, and
whether any worker runs.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from ...jobs.condition_rules import condition_of
from ...jobs.conditions import NO_CONDITION, AttentionLimits, Condition
from ...models.errors import StateError
from ...models.text.ids import entry_key
from ...state.redis.keys import DUE, SESSIONS, session_key
from ...state.redis.readers import time_ms
from ...state.streams.reads import StreamReads
from ..views.attention import with_condition
from ..views.unreadable import UnreadableSession, unreadable_row
from .health_feed import HealthFeed
from .loader import LoadedSession, load_sessions
from .outage_log import OutageLog
from .positions import newest_position
from .session_list import KEPT_ENDED, SessionList
from .session_streams import SessionStreams
from .workers import SpeakingTurn, WorkerReads

log = logging.getLogger(__name__)

#: Seconds between two searches for new sessions.
_FIND_INTERVAL_S = 0.25
#: Number of searches after which the workers are read and all conditions are judged.
_JUDGE_EVERY = 4
#: Number of searches after which all unfinished sessions are compared.
_WHOLE_EVERY = 12
#: Milliseconds before the newest listed session from which the list is read again: a session is listed before
#: it is opened.
_OVERLAP_MS = 10_000
#: Seconds between two reads of the streams of unfinished sessions, for each stream, and at most.
_PAUSE_PER_STREAM_S, _MAX_PAUSE_S = 0.0001, 0.25
#: Seconds to wait after an error.
_RETRY_S = 1.0

_ERRORS = (RedisError, StateError, OSError)


class Hub:
    """Keeps a `SessionList` up to date, and hands the entries of single sessions to their readers.

    Args:
        redis: The client.
        sessions: The list.
        limits: Times after which a session is shown as stuck.
        retention_ms: Milliseconds after their end for which sessions stay in Redis.
    """

    def __init__(
        self, redis: Redis, sessions: SessionList, *, limits: AttentionLimits, retention_ms: int
    ) -> None:
        self._redis: Any = redis
        self._reads = StreamReads(redis)
        self._followed_reads = StreamReads(redis)
        self._sessions = sessions
        self._limits = limits
        self._retention_ms = retention_ms
        #: Unfinished sessions.
        self._open: dict[str, LoadedSession] = {}
        #: Sessions whose records are not valid; they are read again, because they may be repaired or expire.
        self._unreadable: set[str] = set()
        #: Sessions whose check by a worker is overdue.
        self._unswept: set[str] = set()
        #: Key -> (session, id of the newest entry that was read).
        self._cursors: dict[str, tuple[str, str]] = {}
        #: Sessions with new entries that are not loaded yet.
        self._changed: set[str] = set()
        self.streams = SessionStreams(redis)
        self.health = HealthFeed(self.now_ms)
        self._worker_reads = WorkerReads(redis)
        #: Leases that may have been lost: session -> turn -> when it ends.
        self._leases: dict[str, dict[int, int]] = {}
        self._conditions: dict[str, Condition] = {}
        self._outage = OutageLog(log, "live pages are delayed")
        # Until the server's clock is known, that of this process.
        self._clock_ms = (time.time() - time.monotonic()) * 1000
        self._newest_listed_ms = 0.0
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Load the sessions, and start the loops.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        await self._find_all()
        await self._load_ended()
        self._tasks = [
            asyncio.create_task(self._repeat(self._read)),
            asyncio.create_task(self._repeat(self._read_followed)),
            asyncio.create_task(self._repeat(self._find)),
        ]

    async def stop(self) -> None:
        """End the loops."""
        running = set(self._tasks)
        while running:
            for task in running:
                task.cancel()
            # Before Python 3.12, `asyncio.wait_for` of redis-py may lose a cancellation.
            _, running = await asyncio.wait(running, timeout=_RETRY_S)

    def now_ms(self) -> int:
        """Return the time by the server's clock, in milliseconds since the epoch."""
        return int(time.monotonic() * 1000 + self._clock_ms)

    async def _repeat(self, step: Callable[[], Awaitable[None]]) -> None:
        logged: type[Exception] | None = None  # a defect that repeats is logged once
        while True:
            try:
                await step()
                logged = None
            except _ERRORS as error:
                self._record_outage(error)
                await asyncio.sleep(_RETRY_S)
            except Exception as error:
                if type(error) is not logged:
                    log.exception("reading changes for live pages failed, trying again")
                logged = type(error)
                await asyncio.sleep(_RETRY_S)

    def _record_outage(self, error: Exception) -> None:
        self.health.record_error(error)
        self._worker_reads.forget_time()
        self._outage.report(error)

    def _record_read(self) -> None:
        self.health.record_read()
        self._outage.end()

    # -- changes of known sessions -----------------------------------------------------------

    async def _read(self) -> None:
        """Read new entries once, and load the sessions to which they belong."""
        # One command names all streams, so with many of them it is sent less often.
        await asyncio.sleep(min(len(self._cursors) * _PAUSE_PER_STREAM_S, _MAX_PAUSE_S))
        batches = await self._reads.read({key: at for key, (_, at) in self._cursors.items()})
        for key, entries in batches.items():
            if key in self._cursors:
                session_id, _ = self._cursors[key]
                self._cursors[key] = session_id, entries[-1][0]
                self._changed.add(session_id)
        if self._changed:
            changed = sorted(self._changed)
            await self._load(changed)
            # Not before: after an error they are loaded with the next ones.
            self._changed.difference_update(changed)

    async def _read_followed(self) -> None:
        """Read new entries of the sessions whose pages are open."""
        self.streams.feed(await self._followed_reads.read(self.streams.positions()))

    async def _load(self, session_ids: Iterable[str]) -> None:
        """Load sessions, and replace their rows; a session that is gone is removed."""
        wanted = list(session_ids)
        sessions = [
            session
            async for session in load_sessions(self._redis, wanted, now_ms=self.now_ms(), known=self._open)
        ]
        loaded = [session for session in sessions if isinstance(session, LoadedSession)]
        unreadable = [session for session in sessions if isinstance(session, UnreadableSession)]
        for session in sorted(loaded, key=lambda session: entry_key(session.row["position"])):
            self._put(session)
        for failed in unreadable:
            self._put_unreadable(failed)
        gone = (
            set(wanted)
            - {session.row["id"] for session in loaded}
            - {session.session_id for session in unreadable}
        )
        for session_id in gone:
            self._forget(session_id)
            self._sessions.remove(session_id)
        self._sessions.drop_old()
        self._sessions.notify()

    def _put(self, session: LoadedSession) -> None:
        session_id = session.state.session_id
        if session.state.is_final:
            self._forget(session_id)
        else:
            self._open[session_id] = session
            for stream in ("events", "journal"):
                # Entries of the same millisecond are read again, which is harmless.
                start = f"{max(0, session.state.updated_ms - 1)}-0"
                self._cursors.setdefault(session_key(session_id, stream), (session_id, start))
        self._unreadable.discard(session_id)
        self._sessions.put(with_condition(session.row, self._judge(session)))

    def _put_unreadable(self, session: UnreadableSession) -> None:
        session_id = session.session_id
        self._forget(session_id)
        self._unreadable.add(session_id)
        before = self._sessions.get(session_id)
        self._sessions.put(unreadable_row(session, before=before, now_ms=self.now_ms()))

    def _forget(self, session_id: str) -> None:
        self._open.pop(session_id, None)
        self._conditions.pop(session_id, None)
        self._unreadable.discard(session_id)
        for stream in ("events", "journal"):
            self._cursors.pop(session_key(session_id, stream), None)

    # -- new sessions, and attention ---------------------------------------------------------

    async def _find(self) -> None:
        """Find new sessions, and judge the known ones, several times; then compare all once."""
        for number in range(_WHOLE_EVERY):
            await asyncio.sleep(_FIND_INTERVAL_S)
            low = self._newest_listed_ms - _OVERLAP_MS
            await self._load_listed(await self._listed(low))
            self._record_read()
            if number % _JUDGE_EVERY == 0:
                await self._read_workers()
                self._judge_all()
        await self._find_all()

    async def _find_all(self) -> None:
        """Compare the unfinished sessions with the index, and read the workers and the server's clock."""
        seconds = await self._redis.time()
        self._reads.retry_damaged()
        self._followed_reads.retry_damaged()
        self._clock_ms = time_ms(seconds) - time.monotonic() * 1000
        await self._read_workers()
        due = dict(await self._redis.zrange(DUE, 0, -1, withscores=True))
        overdue_ms = self.now_ms() - self._limits.stuck_ms
        self._unswept = {name for name, at in due.items() if 0 < float(at) < overdue_ms}
        expired = self._sessions.ended_before(self.now_ms() - self._retention_ms)
        # A cancelled session stays in the index until a worker sweeps it.
        differing = {
            session_id
            for session_id in self._open.keys() ^ due.keys()
            if not self._sessions.has_ended(session_id)
        }
        await self._load(differing.union(expired, self._unreadable))
        self._record_read()

    async def _read_workers(self) -> None:
        now_ms = self.now_ms()
        await self._worker_reads.read(now_ms)
        turns = [
            SpeakingTurn(session_id, turn.number, turn.scope, turn.token or "", turn.process)
            for session_id, session in self._open.items()
            for turn in session.state.open_turns()
            if turn.status == "speaking"
        ]
        self._leases = await self._worker_reads.read_leases(turns, now_ms)

    async def _load_ended(self) -> None:
        listed = await self._listed(0.0)
        await self._load_listed(listed)
        if len(listed) == KEPT_ENDED:
            # Others may have ended at any time until now.
            self._sessions.mark_incomplete(self.now_ms())

    async def _listed(self, low: float) -> list[tuple[str, float]]:
        """Return the newest sessions in the list, opened at `low` milliseconds or later."""
        entries = await self._redis.zrevrangebyscore(
            SESSIONS, "+inf", low, start=0, num=KEPT_ENDED, withscores=True
        )
        return [(name, float(at)) for name, at in entries]

    async def _load_listed(self, listed: list[tuple[str, float]]) -> None:
        if listed:
            self._newest_listed_ms = max(self._newest_listed_ms, *(at for _, at in listed))
        new = [name for name, _ in listed if name not in self._sessions]
        if new:
            await self._load(new)

    def _judge_all(self) -> None:
        """Judge all unfinished sessions; rows whose attention changed are replaced."""
        for session_id, session in self._open.items():
            row, condition = self._sessions.get(session_id), self._judge(session)
            if row is None:
                continue
            judged = with_condition({**row, "speakers": session.row["speakers"]}, condition)
            if judged != row:
                position = newest_position((row["position"], f"{self.now_ms()}-0"))
                self._sessions.put({**judged, "position": position})
        workers = self._worker_reads.workers
        waiting = sum(condition.kind in ("worker", "lost") for condition in self._conditions.values())
        self.health.record_workers(
            are_there=bool(workers.alive),
            none_since_ms=workers.none_since_ms,
            waiting=waiting,
            last=self._worker_reads.last_lost,
        )
        self._sessions.notify()

    def _judge(self, session: LoadedSession) -> Condition:
        session_id = session.state.session_id
        session.state.now_ms = self.now_ms()  # times are counted up to now
        error = session.row["last_error"]
        condition = condition_of(
            session.state,
            session.roster,
            self._worker_reads.workers,
            limits=self._limits,
            is_unswept=session_id in self._unswept,
            leases=self._leases.get(session_id),
            error="" if error is None else error["text"],
        )
        if not session.state.is_final:
            self._conditions[session_id] = condition
        return condition

    def condition(self, session_id: str) -> Condition:
        """Return what a session does, or why it does not move; of one that has ended, no condition."""
        return self._conditions.get(session_id, NO_CONDITION)

    def unfinished(self) -> Iterable[LoadedSession]:
        """Return the unfinished sessions."""
        return self._open.values()
