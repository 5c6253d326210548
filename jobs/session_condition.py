"""The conditions of live sessions, read from Redis."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any, cast

from redis import Redis

from ..models.errors import CorruptSession
from ..state.presence import WorkerPresence
from ..state.redis.keys import DUE, lock_key, session_key
from ..state.redis.readers import read_entries, server_ms
from ..state.sessions.index import QueueProgress
from ..state.sessions.live_sessions import read_states
from ..state.sessions.records import SessionState
from ..state.worker_leases import WorkerLeases
from .collab import CollabJob
from .condition_rules import condition_of
from .conditions import NO_CONDITION, AttentionLimits, Condition, Roster, Workers
from .last_error import NEWEST_EVENTS, LastError, newest_error
from .reading import connections_of, facts_of


class ConditionReader:
    """Reader of the conditions of several sessions; the workers are read once. The client must decode responses.

    Args:
        client: Redis client of the sessions.
        stuck_ms: Milliseconds without progress after which a session counts as stuck.
    """

    def __init__(self, client: Redis, *, stuck_ms: int) -> None:
        self._client = client
        self._limits = AttentionLimits(stuck_ms)
        self._alive = frozenset(worker.name for worker in WorkerPresence(client).list_alive())
        self._moved_ms = QueueProgress(client).moved_ms()

    def read(self, state: SessionState, roster: Roster) -> tuple[Condition, LastError | None]:
        """Return what a live session does, or why it does not move, and its newest failed turn.

        A session that has ended has no condition and no failure.

        Raises:
            CorruptSession: A stored record is invalid.
            RedisUnavailable: Redis does not answer.
        """
        if state.is_final:
            return NO_CONDITION, None
        running = [turn for turn in state.open_turns() if turn.status == "speaking"]
        pipeline: Any = self._client.pipeline(transaction=False)
        pipeline.zscore(DUE, state.session_id)
        pipeline.xrevrange(session_key(state.session_id, "events"), count=NEWEST_EVENTS)
        for turn in running:
            pipeline.pttl(lock_key(state.session_id, turn.scope))
        due_ms, entries, *left_ms = pipeline.execute()
        processes = [turn.process for turn in running if turn.process is not None]
        workers = Workers(
            alive=self._alive,
            lost=dict.fromkeys(WorkerLeases(self._client).lost_among(processes), state.now_ms),
            queue_moved_ms=self._moved_ms,
        )
        # A turn without a lock may have ended since its session was read.
        leases = {
            turn.number: state.now_ms + ms for turn, ms in zip(running, left_ms, strict=True) if ms >= 0
        }
        error = newest_error(read_entries(entries))
        condition = condition_of(
            state,
            roster,
            workers,
            limits=self._limits,
            is_unswept=0 < (due_ms or 0) < state.now_ms - self._limits.stuck_ms,
            leases=leases,
            error=error["text"] if error else "",
        )
        return condition, error

    def count_attentions(self) -> Counter[str]:
        """Return the number of unfinished sessions by kind of attention.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        counts: Counter[str] = Counter()
        session_ids = cast("list[str]", self._client.zrange(DUE, 0, -1))
        for state in read_states(self._client, session_ids, now_ms=server_ms(self._client)):
            if state is not None and (attention := self._attention(state)):
                counts[attention] += 1
        return counts

    def _attention(self, state: SessionState | CorruptSession) -> str | None:
        if isinstance(state, SessionState):
            with suppress(CorruptSession):
                return self.read(state, Roster())[0].attention
        return "unreadable"


def find_condition(job: CollabJob, state: SessionState, *, stuck_ms: int) -> Condition:
    """Return what a session does, or why it does not move; of an archived one, no condition.

    Args:
        job: The session.
        state: Its state.
        stuck_ms: Milliseconds without progress after which it counts as stuck.

    Raises:
        RedisUnavailable: Redis does not answer.
    """
    if not job.is_live:
        return NO_CONDITION
    facts = facts_of(job)
    reader = ConditionReader(connections_of(job).redis, stuck_ms=stuck_ms)
    return reader.read(state, Roster.of(facts.collab, facts.spec))[0]
