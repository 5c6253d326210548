"""What running workers can do, for those who depend on it: routes of messages, waits for an agent, and warnings.

A worker sends a message that it cannot use itself to the queue of another one. If none can run its agent, the session
waits; the index of such sessions is a hint, so that a worker with the agent finds them at once: the sweep checks each of
them again within a minute.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from random import choice
from typing import Any, cast

from redis import Redis
from redis.exceptions import RedisError

from ..models.errors import RedisUnavailable, SymposiaError
from .presence import (
    WorkerEntry,
    WorkerPresence,
)
from .redis.keys import AWAITED, awaited_key
from .redis.readers import server_ms

log = logging.getLogger(__name__)

#: Seconds for which announcements are kept in memory: workers announce themselves every five seconds.
_CACHE_S = 1.0


class WorkerRoutes:
    """Routes to running workers, from their announcements. Safe to use from several threads.

    Every method returns the name of a queue; '' if only workers of an earlier release are suitable, which have no queue
    of their own; None: no running worker is suitable.

    Args:
        presence: The running workers.
        clock: Function that returns monotonic seconds.
    """

    def __init__(self, presence: WorkerPresence, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._presence = presence
        self._clock = clock
        self._read: tuple[float, list[WorkerEntry]]
        self.forget()

    def forget(self) -> None:
        """Forget the announcements: a worker was lost."""
        self._read = (-_CACHE_S, [])

    def to_agent(self, agent: str, *, fresh: bool = False) -> str | None:
        """Return the route to a worker that can run an agent.

        `fresh`: read the announcements now, because a wait depends on the answer.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        return self._pick(lambda worker: worker.can_run(agent), fresh=fresh)

    def to_format(self, session_format: int) -> str | None:
        """Return the route to a worker that reads sessions of a format. Raises RedisUnavailable."""
        return self._pick(lambda worker: worker.route.session_format >= session_format)

    def count_lanes(self) -> int:
        """Return how many lanes every running worker consumes; 0: none runs, or Redis does not answer."""
        try:
            return min((worker.route.lanes for worker in self._workers()), default=0)
        except RedisUnavailable:
            return 0

    def _workers(self, *, fresh: bool = False) -> list[WorkerEntry]:
        at_s, workers = self._read
        if fresh or self._clock() >= at_s + _CACHE_S:
            workers = self._presence.list_alive()
            self._read = self._clock(), workers
        return workers

    def _pick(self, is_suitable: Callable[[WorkerEntry], bool], *, fresh: bool = False) -> str | None:
        suitable = [worker.route.queue for worker in self._workers(fresh=fresh) if is_suitable(worker)]
        queues = [queue for queue in suitable if queue]
        # A queue with more workers is chosen more often.
        return choice(queues) if queues else ("" if suitable else None)  # noqa: S311 - not a secret


#: Milliseconds between two checks of a session that waits for an agent.
RECHECK_MS = 60_000
#: Milliseconds after which an entry that was not renewed is outdated: its session has ended, or a worker has the turn.
_STALE_MS = 3 * RECHECK_MS
_TTL_S = 3_600
#: Sessions that are taken at once.
_PAGE = 100


def describe_awaited(agents: Sequence[str]) -> str:
    """Return the wait for agents in words: `no worker knows agent ada`."""
    return f"no worker knows agent{'s' if len(agents) > 1 else ''} {', '.join(agents)}"


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
                "%s, %s is waiting: start a worker whose agents file has it",
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
