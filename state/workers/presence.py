"""Running workers and the agents they know, for `submit` and `doctor`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from redis import Redis

from ..redis.clock import server_ms
from ..redis.keys import WORKERS

#: Milliseconds of silence after which a worker counts as gone.
SILENT_MS = 30_000


@dataclass(frozen=True, slots=True)
class WorkerEntry:
    """A worker as it announced itself."""

    name: str
    agents: tuple[str, ...]
    #: Milliseconds since its last announcement.
    age_ms: int
    #: Names that schedules may use: `roots`, `jobs` and `panels` of its settings.
    offers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Milliseconds, at that time, for which it had a free place and had begun no task; None: not announced.
    idle_ms: int | None = None


class WorkerPresence:
    """A hash of worker name -> (time, agent names); writers remove old entries."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def announce(
        self,
        name: str,
        agents: Iterable[str],
        offers: Mapping[str, Iterable[str]] | None = None,
        *,
        idle_ms: int | None = None,
    ) -> None:
        """Say that a worker lives, and remove those that have been silent for long.

        Args:
            name: the worker's name.
            agents: names of the agents it knows.
            offers: names that schedules may use, by kind: `roots`, `jobs`, `panels`.
            idle_ms: milliseconds for which it has had a free place and has begun no task.
        """
        now = server_ms(self._client)
        offered = {kind: sorted(names) for kind, names in (offers or {}).items()}
        entry = {"at": now, "agents": sorted(agents), "offers": offered, "idle_ms": idle_ms}
        self._client.hset(WORKERS, name, json.dumps(entry))
        gone = [entry.name for entry in self._entries(now) if entry.age_ms > 10 * SILENT_MS]
        if gone:
            self._client.hdel(WORKERS, *gone)

    def list_alive(self) -> list[WorkerEntry]:
        """Return the workers heard of within the last 30 seconds, by name."""
        return [entry for entry in self._entries(server_ms(self._client)) if entry.age_ms <= SILENT_MS]

    def is_any_alive(self) -> bool:
        """Return whether a worker was heard of within the last 30 seconds. Reads a single entry if all workers are alive."""
        name = cast("str | None", self._client.hrandfield(WORKERS))
        if name is None:
            return False
        raw = cast("str | None", self._client.hget(WORKERS, name))
        entry = _entry(name, raw, server_ms(self._client)) if raw else None
        return (entry is not None and entry.age_ms <= SILENT_MS) or bool(self.list_alive())

    def known_agents(self) -> frozenset[str]:
        """Return `common_agents` of the live workers."""
        return common_agents(self.list_alive())

    def offered(self, kind: str) -> frozenset[str] | None:
        """Return the names of a kind that every worker offers; None: no worker that says so was heard of lately."""
        offers = [worker.offers[kind] for worker in self.list_alive() if kind in worker.offers]
        return frozenset.intersection(*map(frozenset, offers)) if offers else None

    def leave(self, name: str) -> None:
        """Remove a worker that stops."""
        self._client.hdel(WORKERS, name)

    def _entries(self, now_ms: int) -> list[WorkerEntry]:
        known = cast("dict[str, str]", self._client.hgetall(WORKERS))
        entries = (_entry(name, raw, now_ms) for name, raw in sorted(known.items()))
        return [entry for entry in entries if entry is not None]


def common_agents(workers: Iterable[WorkerEntry]) -> frozenset[str]:
    """Return the agents that every worker knows, because any worker may get a turn. Empty without a worker."""
    known = [frozenset(worker.agents) for worker in workers]
    return frozenset.intersection(*known) if known else frozenset()


def _entry(name: str, raw: str, now_ms: int) -> WorkerEntry | None:
    """Return what a worker announced; None: a worker of another release announced it in another form."""
    try:
        data = json.loads(raw)
        agents = tuple(map(str, data["agents"]))
        offers = {kind: tuple(map(str, names)) for kind, names in data.get("offers", {}).items()}
        idle_ms = data.get("idle_ms")
        age_ms = now_ms - int(data["at"])
        return WorkerEntry(name, agents, age_ms, offers, None if idle_ms is None else int(idle_ms))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
