"""The condition of one live session, read from Redis."""

from __future__ import annotations

from ..state.presence import WorkerPresence
from ..state.redis.keys import lock_key
from ..state.sessions.index import QueueProgress
from ..state.sessions.records import SessionState
from ..state.worker_leases import WorkerLeases
from .collab import CollabJob
from .condition_rules import condition_of
from .conditions import NO_CONDITION, AttentionLimits, Condition, Roster, Workers
from .reading import connections_of, facts_of


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
    client, facts = connections_of(job).redis, facts_of(job)
    running = [turn for turn in state.open_turns() if turn.status == "speaking"]
    processes = [turn.process for turn in running if turn.process is not None]
    workers = Workers(
        alive=frozenset(worker.name for worker in WorkerPresence(client).list_alive()),
        lost=dict.fromkeys(WorkerLeases(client).lost_among(processes), state.now_ms),
        queue_moved_ms=QueueProgress(client).moved_ms(),
    )
    left_ms = {turn.number: client.pttl(lock_key(job.id, turn.scope)) for turn in running}
    # A turn without a lock may have ended since its session was read.
    leases = {number: state.now_ms + ms for number, ms in left_ms.items() if ms >= 0}
    roster, limits = Roster.of(facts.collab, facts.spec), AttentionLimits(stuck_ms)
    return condition_of(state, roster, workers, limits=limits, leases=leases)
