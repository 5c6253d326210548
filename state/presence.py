"""Announcements of running workers and beats."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from redis import Redis

from ..models.sessions.agent_queues import AgentQueues, ServedQueues
from ..models.sessions.known_agents import KnownAgents, ReaderModel
from .redis.keys import BEATS, WORKERS
from .redis.readers import server_ms
from .worker_leases import WorkerLeases

#: Milliseconds of silence after which a worker counts as gone.
SILENT_MS = 30_000
#: Seconds for which announcements are kept in memory: workers announce themselves every five seconds.
CACHE_S = 1.0


@dataclass(frozen=True, slots=True)
class WorkerRoute:
    """Where a worker takes messages that other workers hand on, and for what."""

    #: A queue that only workers with the same agents and formats consume; empty: it has none.
    queue: str = ""
    #: Agents that it knows and cannot run: a package, a program or a variable is missing.
    unable: tuple[str, ...] = ()
    #: Newest format of sessions that it reads.
    session_format: int = 1
    #: Queues of agents that it consumes, and those of its agents.
    queues: AgentQueues = AgentQueues()  # noqa: RUF009 - frozen
    #: Agents in `unable`, for workers of earlier releases, that lack only the queue.
    unserved: tuple[str, ...] = ()
    #: Number of lanes that may be used while it runs: it consumes them, if it consumes the common queue. 0: none, as with an
    #: earlier release or a broker without them.
    lanes: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        served = self.queues.served
        return {
            "queue": self.queue,
            "unable": self.unable,
            "session_format": self.session_format,
            "unserved": self.unserved,
            "common_queue": served.common_queue,
            "served": sorted(served.names),
            "takes_common": served.takes_common,
            "agent_queues": dict(self.queues.by_agent),
            "lanes": self.lanes,
        }

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> WorkerRoute:
        """Return the route in an announcement; what earlier releases leave out has its default."""
        served = ServedQueues(
            str(data.get("common_queue", "")),
            frozenset(map(str, data.get("served", ()))),
            takes_common=bool(data.get("takes_common", True)),
        )
        by_agent = {agent: str(queue) for agent, queue in data.get("agent_queues", {}).items()}
        return cls(
            str(data.get("queue", "")),
            tuple(map(str, data.get("unable", ()))),
            int(data.get("session_format", 1)),
            AgentQueues(served, by_agent),
            tuple(map(str, data.get("unserved", ()))),
            int(data.get("lanes", 0)),
        )


@dataclass(frozen=True, slots=True)
class WorkerEntry:
    """A worker as it announced itself."""

    name: str
    agents: KnownAgents
    #: Milliseconds since its last announcement.
    age_ms: int
    #: Names that schedules may use: `roots`, `jobs` and `panels` of its settings.
    offers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Its model agents by name, for reviews.
    models: Mapping[str, ReaderModel] = field(default_factory=dict)
    #: Identities of its agents that run programs, by name.
    programs: Mapping[str, str] = field(default_factory=dict)
    #: Milliseconds for which it had been free without a new task when it announced itself; None: not
    #: announced.
    idle_ms: int | None = None
    #: Number of messages that it had taken from the queue and not finished; None: not announced.
    taken: int | None = None
    #: Id of its process (`worker_leases.py`); empty: the end of the process is not noticed.
    process: str = ""
    #: What other workers must know to hand it a message.
    route: WorkerRoute = WorkerRoute()

    def can_run(self, agent: str, queue: str = "") -> bool:
        """Return whether the worker runs turns of an agent; `queue`: that of the participant, empty: it has none."""
        route = self.route
        is_able = agent not in route.unable or agent in route.unserved
        return agent in self.agents and is_able and route.queues.serve(agent, queue)


class AliveWorkers(NamedTuple):
    """Workers that were alive when they were read."""

    workers: Sequence[WorkerEntry]
    #: What any of them knows: a turn is handed on to such a worker. Empty without a worker.
    agents: KnownAgents
    #: When they were read, by `time.monotonic()`.
    read_s: float = 0.0
    #: Whether they were read for this call.
    is_fresh: bool = True


class WorkerPresence:
    """A hash of worker name -> (time, agent names); writers remove old entries."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._leases = WorkerLeases(client)
        self._recent = AliveWorkers((), KnownAgents(), -CACHE_S)

    def announce(  # noqa: PLR0913 - each is a part of the announcement
        self,
        name: str,
        agents: Iterable[str],
        offers: Mapping[str, Iterable[str]] | None = None,
        *,
        models: Mapping[str, ReaderModel] | None = None,
        programs: Mapping[str, str] | None = None,
        idle_ms: int | None = None,
        taken: int | None = None,
        process: str = "",
        route: WorkerRoute | None = None,
    ) -> None:
        """Record that a worker is running, and remove workers that have been silent for a long time.

        Args:
            name: The worker's name.
            agents: Names of the agents it knows; `KnownAgents` say more about them.
            offers: Names that schedules may use, by kind: `roots`, `jobs`, `panels`.
            models: Its model agents by name, for reviews.
            programs: Identities of its agents that run programs, by name.
            idle_ms: Milliseconds for which it has been free and has started no task.
            taken: Number of messages that it has taken from the queue and not finished.
            process: Id of its process; empty: the end of the process is not noticed.
            route: Where it takes messages that other workers hand on.
        """
        now = server_ms(self._client)
        offered = {kind: sorted(names) for kind, names in (offers or {}).items()}
        described = {agent: model.model_dump(mode="json") for agent, model in sorted((models or {}).items())}
        known_agents = KnownAgents.read(agents)
        entry = {
            "at": now,
            "agents": sorted(known_agents),
            "people": sorted(known_agents.people),
            "built_in": sorted(known_agents.built_in),
            "unpriced": sorted(known_agents.unpriced),
            "offers": offered,
            "models": described,
            "programs": dict(programs or {}),
            "idle_ms": idle_ms,
            "taken": taken,
            "process": process,
            "route": (route or WorkerRoute()).as_json(),
        }
        self._client.hset(WORKERS, name, json.dumps(entry))
        gone = [entry.name for entry in self._entries(now) if entry.age_ms > 10 * SILENT_MS]
        if gone:
            self._client.hdel(WORKERS, *gone)

    def list_alive(self) -> list[WorkerEntry]:
        """Return the workers that announced themselves within the last 30 seconds and were not lost since, by name."""
        heard = [entry for entry in self._entries(server_ms(self._client)) if entry.age_ms <= SILENT_MS]
        lost = self._leases.lost_among([entry.process for entry in heard if entry.process])
        return [entry for entry in heard if entry.process not in lost]

    def list_recent(self) -> AliveWorkers:
        """Return the live workers as of the last second. That none is alive is always read now."""
        recent, now = self._recent, time.monotonic()
        if recent.workers and now < recent.read_s + CACHE_S:
            return recent
        workers = self.list_alive()
        fresh = AliveWorkers(workers, all_agents(workers), now)
        self._recent = fresh._replace(is_fresh=False)
        return fresh

    def is_any_alive(self) -> bool:
        """Return whether `list_alive` has any; one entry is read if all are alive."""
        name = cast("str | None", self._client.hrandfield(WORKERS))
        if name is None:
            return False
        raw = cast("str | None", self._client.hget(WORKERS, name))
        entry = _entry(name, raw, server_ms(self._client)) if raw else None
        if entry is None or entry.age_ms > SILENT_MS or self._leases.lost_among([entry.process]):
            return bool(self.list_alive())
        return True

    def known_agents(self) -> KnownAgents:
        """Return `all_agents` of the live workers."""
        return all_agents(self.list_alive())

    def reader_models(self) -> dict[str, ReaderModel]:
        """Return the model agents of the live workers by name; of different announcements the smallest window.

        Any worker may get a turn, so the identity is that of all announcements together.
        """
        models_by_agent: dict[str, list[ReaderModel]] = {}
        for worker in self.list_alive():
            for agent, model in worker.models.items():
                models_by_agent.setdefault(agent, []).append(model)
        return {agent: _smallest(models) for agent, models in models_by_agent.items()}

    def program_identities(self) -> dict[str, str]:
        """Return the identities of the agents of the live workers that run programs, of all announcements together."""
        identities_by_agent: dict[str, set[str]] = {}
        for worker in self.list_alive():
            for agent, identity in worker.programs.items():
                identities_by_agent.setdefault(agent, set()).add(identity)
        return {agent: " ".join(sorted(identities)) for agent, identities in identities_by_agent.items()}

    def offered(self, kind: str) -> frozenset[str] | None:
        """Return the names of a kind that every worker offers; None: no live worker announces such names."""
        offers = [worker.offers[kind] for worker in self.list_alive() if kind in worker.offers]
        return frozenset.intersection(*map(frozenset, offers)) if offers else None

    def leave(self, name: str) -> None:
        """Remove a worker that stops."""
        self._client.hdel(WORKERS, name)

    def remove_lost(self, process: str) -> None:
        """Remove the announcement of a process that was lost, unless a later process of the worker has announced itself."""
        name = process.rpartition("/")[0]
        raw = cast("str | None", self._client.hget(WORKERS, name))
        if raw is not None and (entry := _entry(name, raw, 0)) is not None and entry.process == process:
            self.leave(name)

    def _entries(self, now_ms: int) -> list[WorkerEntry]:
        return parse_entries(cast("dict[str, str]", self._client.hgetall(WORKERS)), now_ms)


def parse_entries(raw_entries: Mapping[str, str], now_ms: int) -> list[WorkerEntry]:
    """Return the announcements of a hash, by name of the worker; those of other releases are left out.

    Args:
        raw_entries: The hash `WORKERS`.
        now_ms: The time by the server's clock.
    """
    entries = (_entry(name, raw, now_ms) for name, raw in sorted(raw_entries.items()))
    return [entry for entry in entries if entry is not None]


def all_agents(workers: Iterable[WorkerEntry]) -> KnownAgents:
    """Return the agents that any worker knows: a turn is handed on to such a worker. Empty without a worker."""
    return KnownAgents.of_any([worker.agents for worker in workers])


def _smallest(models: Sequence[ReaderModel]) -> ReaderModel:
    smallest = min(models, key=lambda model: model.context_tokens)
    return smallest.model_copy(update={"identity": " ".join(sorted({model.identity for model in models}))})


def _entry(name: str, raw: str, now_ms: int) -> WorkerEntry | None:
    """Return the announcement of a worker; None: it has the format of another release."""
    try:
        data = json.loads(raw)
        named = {
            field: [str(name) for name in data.get(field, ())] for field in ("people", "built_in", "unpriced")
        }
        agents = KnownAgents(map(str, data["agents"]), **named)
        offers = {kind: tuple(map(str, names)) for kind, names in data.get("offers", {}).items()}
        models = {agent: ReaderModel.model_validate(model) for agent, model in data.get("models", {}).items()}
        idle_ms, taken = (
            None if data.get(field) is None else int(data[field]) for field in ("idle_ms", "taken")
        )
        programs = {agent: str(identity) for agent, identity in data.get("programs", {}).items()}
        process, route = str(data.get("process", "")), WorkerRoute.read(data.get("route") or {})
        age_ms = now_ms - int(data["at"])
        return WorkerEntry(name, agents, age_ms, offers, models, programs, idle_ms, taken, process, route)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


#: Milliseconds of silence after which a beat counts as gone.
BEAT_SILENT_MS = 30_000


class BeatPresence:
    """A hash of beat name -> time of its last announcement; writers remove old entries."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def announce(self, name: str) -> None:
        """Record that a beat is running, and remove beats that have been silent for too long."""
        heard, now_ms = self._heard()
        self._client.hset(BEATS, name, now_ms)
        self._client.pexpire(BEATS, 10 * BEAT_SILENT_MS)
        if gone := [name for name, at_ms in heard.items() if now_ms - at_ms > BEAT_SILENT_MS]:
            self._client.hdel(BEATS, *gone)

    def leave(self, name: str) -> None:
        """Remove a beat that stops."""
        self._client.hdel(BEATS, name)

    def list_alive(self) -> list[str]:
        """Return the beats that announced themselves within the last 30 seconds, by name."""
        heard, now_ms = self._heard()
        return sorted(name for name, at_ms in heard.items() if now_ms - at_ms <= BEAT_SILENT_MS)

    def _heard(self) -> tuple[dict[str, int], int]:
        heard = cast("dict[str, str]", self._client.hgetall(BEATS))
        times = {name: int(at) for name, at in heard.items() if at.isascii() and at.isdigit()}
        return times, server_ms(self._client)
