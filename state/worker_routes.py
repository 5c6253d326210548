"""What running workers can do, for those who depend on it: routes of messages, waits for an agent, and warnings.

A worker sends a message that it cannot use itself to the queue of another one. If none can run its agent, the session
waits; the index of such sessions is a hint, so that a worker with the agent finds them at once: the sweep checks each of
them again within a minute.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import choice
from typing import Any, cast

from redis import Redis
from redis.exceptions import RedisError

from ..models.errors import RedisUnavailable, SymposiaError
from ..models.sessions.agent_queues import ServedQueues, broker_queue, format_need, parse_need
from ..models.sessions.priority import Priority
from .presence import (
    CACHE_S,
    WorkerEntry,
    WorkerPresence,
)
from .redis.keys import AWAITED, awaited_key
from .redis.readers import server_ms

log = logging.getLogger(__name__)


class WorkerRoutes:
    """Routes to running workers, from their announcements. Safe to use from several threads.

    Every method returns the name of a queue; '' if only workers of an earlier release are suitable, which have no queue
    of their own; None: no running worker is suitable.

    Args:
        presence: The running workers.
        clock: Function that returns monotonic seconds.
        served: Returns the queues that this process serves.
    """

    def __init__(
        self,
        presence: WorkerPresence,
        *,
        clock: Callable[[], float] = time.monotonic,
        served: Callable[[], ServedQueues] = ServedQueues,
    ) -> None:
        self._presence = presence
        self._served = served
        self._clock = clock
        self._read: tuple[float, list[WorkerEntry]]
        self.forget()

    def forget(self) -> None:
        """Forget the announcements: a worker was lost."""
        self._read = (-CACHE_S, [])

    def to_agent(self, need: str, *, fresh: bool = False) -> str | None:
        """Return the route to a worker that can run an agent.

        If all workers of the queue that the turn needs can run it, that is the queue itself.

        Args:
            need: The agent, with the queue of the participant if it has one, as `format_need` returns it.
            fresh: Read the announcements now, because a wait depends on the answer.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        agent, queue = parse_need(need)
        workers = self._workers(fresh=fresh)
        suitable = [worker for worker in workers if worker.can_run(agent, queue)]
        shared = self._shared_queue(
            workers, suitable, {w.route.queues.queue_of(agent, queue) for w in suitable}
        )
        return _pick(suitable) if shared is None else shared

    def _shared_queue(
        self, workers: Sequence[WorkerEntry], suitable: Sequence[WorkerEntry], names: set[str]
    ) -> str | None:
        """Return the queue of agents, or the common one (''), all of whose workers are suitable; None: there is none.

        A worker that takes messages of the common queue has found out that it cannot run this one.
        """
        if len(names) != 1:
            return None
        (name,) = names
        if not all(worker in suitable for worker in workers if worker.route.queues.served.serves(name)):
            return None
        if name:
            return broker_queue(suitable[0].route.queues.served.common_queue, name)
        return None if self._served().takes_common else ""

    def to_format(self, session_format: int) -> str | None:
        """Return the route to a worker that reads sessions of a format. Raises RedisUnavailable."""
        return _pick([worker for worker in self._workers() if worker.route.session_format >= session_format])

    def count_lanes(self) -> int:
        """Return how many lanes every running worker consumes; 0: none runs, or Redis does not answer."""
        try:
            return min((worker.route.lanes for worker in self._workers()), default=0)
        except RedisUnavailable:
            return 0

    def _workers(self, *, fresh: bool = False) -> list[WorkerEntry]:
        at_s, workers = self._read
        if fresh or self._clock() >= at_s + CACHE_S:
            workers = self._presence.list_alive()
            self._read = self._clock(), workers
        return workers


def _pick(suitable: Sequence[WorkerEntry]) -> str | None:
    """Return the own queue of one of these workers."""
    queues = [worker.route.queue for worker in suitable if worker.route.queue]
    # A queue with more workers is chosen more often.
    return choice(queues) if queues else ("" if suitable else None)  # noqa: S311 - not a secret


def find_unserved(
    workers: Sequence[WorkerEntry], bindings: Iterable[tuple[str, str]] | None = None
) -> list[str]:
    """Return the needs with a queue that no live worker can meet.

    Args:
        workers: The live workers.
        bindings: Agents, each with the queue of its participant or ''. None: all agents of the workers' agents files.
    """
    announced = {agent: queue for worker in workers for agent, queue in worker.route.queues.by_agent.items()}
    pairs = dict.fromkeys((agent, "") for agent in announced) if bindings is None else dict.fromkeys(bindings)
    return sorted(
        format_need(agent, queue or announced[agent])
        for agent, queue in pairs
        if (queue or agent in announced) and not any(worker.can_run(agent, queue) for worker in workers)
    )


def warn_of_unserved(
    workers: Sequence[WorkerEntry], bindings: Iterable[tuple[str, str]], *, what: str
) -> None:
    """Log a warning if no live worker serves a queue that a session needs; without any worker there is another one."""
    if workers and (needs := find_unserved(workers, bindings)):
        log.warning("%s, %s will wait: start a worker of the queue", describe_awaited(needs), what)


def warn_of_ignored_priority(
    workers: Sequence[WorkerEntry], priorities: Iterable[Priority], *, what: str
) -> None:
    """Log a warning if sessions have a priority and a live worker consumes no lanes."""
    given = sorted({*priorities} - {Priority.NORMAL})
    without = [worker.name for worker in workers if not worker.route.lanes]
    if given and without:
        log.warning(
            "%s: priority %s has no effect, because worker %s consumes no lanes: its broker is not Redis, its app orders "
            "the queues itself, or it is of an earlier release",
            what,
            " and ".join(given),
            without[0],
        )


#: Milliseconds between two checks of a session that waits for an agent.
RECHECK_MS = 60_000
#: Milliseconds after which an entry that was not renewed is outdated: its session has ended, or a worker has the turn.
_STALE_MS = 3 * RECHECK_MS
_TTL_S = 3_600
#: Sessions that are taken at once.
_PAGE = 100


def describe_awaited(needs: Sequence[str]) -> str:
    """Return the wait for agents in words: `no worker knows agent ada`, `no worker of queue gpu knows agent ada`."""
    by_queue: dict[str, list[str]] = {}
    for need in needs:
        agent, queue = parse_need(need)
        by_queue.setdefault(queue, []).append(agent)
    parts = [
        f"no worker {f'of queue {queue} ' if queue else ''}knows agent{'s' if len(agents) > 1 else ''} {', '.join(agents)}"
        for queue, agents in sorted(by_queue.items())
    ]
    return "; ".join(parts)


class AwaitedAgents:
    """Agents that no worker can run, with the sessions that wait for them. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def add(self, agent: str, session_id: str, *, now_ms: int) -> None:
        """Add or renew a session that waits for an agent, and remove outdated entries."""
        pipeline = self._client.pipeline(transaction=False)
        for key, member in ((AWAITED, agent), (awaited_key(agent), session_id)):
            pipeline.zadd(key, {member: now_ms})
            pipeline.zremrangebyscore(key, "-inf", now_ms - _STALE_MS)
            pipeline.expire(key, _TTL_S)
        pipeline.execute()

    def names(self) -> list[str]:
        """Return the agents for which a session may wait; nearly always none."""
        return cast("list[str]", self._client.zrange(AWAITED, 0, -1))

    def count(self) -> dict[str, int]:
        """Return how many sessions wait for each agent, by name of the agent."""
        names = self.names()
        since_ms = server_ms(self._client) - _STALE_MS if names else 0
        pipeline = self._client.pipeline(transaction=False)
        for name in names:
            pipeline.zcount(awaited_key(name), since_ms, "+inf")
        counts = zip(names, cast("list[int]", pipeline.execute()), strict=True)
        return {name: count for name, count in counts if count}

    def take(self, agent: str) -> Iterator[list[str]]:
        """Remove the sessions that wait for an agent, and yield them in pages."""
        while page := cast("list[tuple[str, Any]]", self._client.zpopmin(awaited_key(agent), _PAGE)):
            yield [session_id for session_id, _ in page]
        self._client.zrem(AWAITED, agent)


#: Seconds between two checks of one call.
LOOK_EVERY_S = 5.0


class WorkerWatch:
    """Warning for a waiting call: logged once while no worker is running, and again only after one was running.

    Args:
        presence: The running workers.
        what: What waits, such as `session ID`; for the log line.
        grace_s: Seconds that workers may be missing before the warning.
        awaited_agents: Returns the agents that it waits for and no worker knows.
        clock: Function that returns monotonic seconds.
    """

    def __init__(
        self,
        presence: WorkerPresence,
        what: str,
        *,
        grace_s: float = 0.0,
        awaited_agents: Callable[[], Sequence[str]] = tuple,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._presence = presence
        self._what = what
        self._awaited_agents = awaited_agents
        self._awaited: Sequence[str] = ()
        self._grace_s = grace_s
        self._clock = clock
        self._next_look = clock()
        self._missing_since: float | None = None
        self._warned = False

    def is_due(self) -> bool:
        """Return whether `check` would ask the server now."""
        return self._clock() >= self._next_look

    def check(self) -> None:
        """Check whether a worker is running. It may be called at any rate and never raises if Redis is unavailable."""
        if not self.is_due():
            return
        self._next_look = self._clock() + LOOK_EVERY_S
        try:
            is_any_alive = self._presence.is_any_alive()
            awaited = self._awaited_agents() if is_any_alive else self._awaited
        except (SymposiaError, RedisError, OSError):
            return  # the waiting call reads from the same server, and gets the error there
        self.record_check(is_any_alive)
        self._record_awaited(awaited)

    def _record_awaited(self, agents: Sequence[str]) -> None:
        if agents == self._awaited:
            return
        self._awaited = agents
        if agents:
            log.warning(
                "%s, %s is waiting: start a worker that consumes the queue and whose agents file has it"
                if any(parse_need(need)[1] for need in agents)
                else "%s, %s is waiting: start a worker whose agents file has it",
                describe_awaited(agents),
                self._what,
            )
        else:
            log.info("a worker with the agent is running, %s continues", self._what)

    def record_check(self, is_any_alive: bool) -> None:
        """Log a change of the result."""
        now = self._clock()
        if is_any_alive:
            if self._warned:
                log.info("a worker is running again, %s continues", self._what)
            self._missing_since, self._warned = None, False
            return
        if self._missing_since is None:
            self._missing_since = now
        if not self._warned and now - self._missing_since >= self._grace_s:
            self._warned = True
            log.warning(
                "no worker is running, %s is waiting: start one with `symposia worker` or `symposia up`",
                self._what,
            )
