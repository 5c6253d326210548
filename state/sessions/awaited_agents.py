"""Index of the sessions that wait for an agent that no worker can run.

It is a hint, so that a worker with the agent finds them at once: the sweep checks each of them again within a minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from redis import Redis

from ..redis.keys import AWAITED, awaited_key
from ..redis.readers import server_ms

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
