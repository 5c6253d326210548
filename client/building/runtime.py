"""Builder of the runtime of a worker process from the settings, and of what replays its sessions."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from celery import Celery
from pydantic import SecretStr
from redis import Redis

from ...agents.execution.runner import AgentRunner
from ...agents.execution.threads import DaemonThreadPool
from ...agents.kinds.session import SessionFiles
from ...agents.local_model.server import recorded_local_model
from ...agents.registry.registry import DEFAULT_FILE, Registry
from ...agents.registry.source import FileKind, FileSource, OnRead
from ...config.settings import Settings, read_variable
from ...jobs.session_file import ignore_path, read_session_document
from ...models.errors import RegistryError
from ...models.sessions.limits import DailyLimits
from ...reviews.batches.context import ReviewQueue
from ...reviews.state.readable_files import StoredReviewFiles
from ...state.metrics import MetricCounts
from ...state.presence import WorkerPresence
from ...state.redis.connect import connect
from ...state.sessions.index import QueueProgress, SessionIndex
from ...state.sessions.store import SessionStore
from ...state.tenant_lanes import TenantLanes
from ...state.worker_routes import WorkerRoutes
from ...tasks.ports import EndMessages, NoEndMessages, NoSessionEvents, SessionEvents, Tracing
from ...tasks.runtime.archiving import Archiver, ArchivingTimes
from ...tasks.runtime.end_messages import AppEndMessages
from ...tasks.runtime.graph import TaskGraph
from ...tasks.runtime.history import HistoryReader, no_archive
from ...tasks.runtime.leases import LeaseRenewer
from ...tasks.runtime.metrics import MetricBuffer
from ...tasks.runtime.runtime import (
    Agents,
    AgentTimes,
    FactsCache,
    Ports,
    Runtime,
    Sessions,
    Stores,
    WorkerLimits,
    can_run_here,
    held_sessions_of,
    ignore_ended,
    served_queues,
)
from ...tasks.runtime.turn_services import TurnServicesFactory
from ...tasks.views.session_views import SessionFacts
from ...tasks.waiting.subsessions.answers import ParentsAndChildren
from .broker import check_servers, secrets_in_use
from .connection import open_archive
from .memory import turn_memory, turn_recollections
from .sessions import session_opener
from .webhooks import webhook_events

if TYPE_CHECKING:
    from ...archive.sessions.reader import ArchiveReader
    from ...jobs.reading import ReadableJob
    from ...replay.replay import ReplayResult

T = TypeVar("T")


def limits_of(settings: Settings) -> WorkerLimits:
    """Return the turn limits of the settings."""
    return WorkerLimits(
        lease_ms=int(settings.lease_s * 1000),
        grace_ms=int(settings.redispatch_after_s * 1000),
        turn_timeout_s=settings.turn_timeout_s,
        retention_ms=int(settings.retention_s * 1000),
        max_message_bytes=settings.max_message_bytes,
        max_attachment_bytes=settings.max_attachment_bytes,
        tenant=daily_limits(settings),
        stuck_after_ms=int(settings.stuck_after_s * 1000),
        max_depth=settings.max_subsession_depth,
        max_subsessions=settings.max_subsessions,
    )


def daily_limits(settings: Settings) -> DailyLimits:
    """Return the daily limits of each tenant."""
    usd = settings.tenant_daily_usd
    return DailyLimits(
        tokens=settings.tenant_daily_tokens,
        cost_micros=None if usd is None else round(usd * 1e6),
        turns=settings.tenant_daily_turns,
    )


def agents_file_of(settings: Settings) -> Path:
    """Return the path of the agents file, which may not exist."""
    return settings.agents_file or DEFAULT_FILE


def load_registry(
    settings: Settings,
    *,
    objects: Mapping[str, object] = MappingProxyType({}),
    getenv: Callable[[str], str | None] = read_variable,
    local_model: Callable[[], str | None] | None = None,
    import_modules: bool = False,
    threads: DaemonThreadPool | None = None,
    on_read: OnRead = ignore_path,
) -> Registry:
    """Return the agents of the configured file, and those that are given as objects.

    Args:
        settings: The settings of the installation.
        objects: Agents that are given as objects, by name.
        getenv: As in `Registry`; by default, the variables of this process.
        local_model: As in `Registry`; by default, the local model of this machine.
        import_modules: As in `Registry`: only processes that run agents import code.
        threads: As in `Registry`.
        on_read: Called with the path of each session file before it is read.

    Raises:
        RegistryError: The file breaks a rule; the error names file, entry, field and rule.
    """
    return Registry.load(
        settings.agents_file,
        getenv=getenv,
        local_model=local_model or (lambda: recorded_local_model(settings.data_dir)),
        concurrency=settings.worker_concurrency,
        objects=objects,
        session_files=SessionFiles(
            partial(read_session_document, on_read=on_read), settings.max_subsession_depth
        ),
        import_modules=import_modules,
        threads=threads,
    )


def _removed_agents_file(path: Path) -> RegistryError:
    return RegistryError(str(path), entry="", field="", rule="was removed")


_AGENTS_FILE = FileKind("agents file", "agents", _removed_agents_file, Registry.check, "the agent will fail")


def registry_source(settings: Settings, *, is_reporting: bool = True) -> FileSource[Registry]:
    """Return the source of the agents of a process that runs them.

    `is_reporting`: whether it logs changes of the agents file.

    Raises:
        RegistryError: The file breaks a rule.
    """

    def load(on_read: OnRead, older: Registry | None) -> Registry:
        threads = older.threads if older else None
        return load_registry(settings, import_modules=True, threads=threads, on_read=on_read)

    return FileSource(agents_file_of(settings), load, _AGENTS_FILE, is_reporting=is_reporting)


def build_archiver(settings: Settings, client: Redis) -> Archiver | None:
    """Return the archiver of a worker; None: no archive is configured."""
    archive = open_archive(settings)
    if archive is None:
        return None
    times = ArchivingTimes(
        every_ms=int(settings.archive_interval_s * 1000), retention_ms=settings.retention_s * 1000
    )
    return Archiver(archive, client, times)


def build_runtime(
    app: Celery | None,
    settings: Settings,
    *,
    redis_url: str,
    tracing: Tracing | None = None,
    agents: Callable[[], Registry] | None = None,
    graph: TaskGraph | None = None,
) -> Runtime:
    """Return a runtime on the Redis at `redis_url`, which may be unavailable.

    Args:
        app: The Celery app that sends the tasks; None: `graph` runs them in this process, and there are no reviews.
        settings: The settings of the installation.
        redis_url: URL of the Redis in use.
        tracing: Traces of the turns; None: nothing is traced.
        agents: Returns the agents for the work that begins now; None: those of the configured file.
        graph: Dispatch of the turns; None: as tasks of `app`.

    Raises:
        RegistryError: The agents file is not valid.
        UnsuitableRedis: A server that answers is of another kind than its URL says.
    """
    settings = settings.model_copy(update={"redis_url": SecretStr(redis_url)})
    check_servers(settings)
    client = connect(redis_url)
    store = SessionStore(client)
    limits = limits_of(settings)
    agents, agent_times = agents or registry_source(settings).current, AgentTimes()
    on_session_ended: Callable[[SessionFacts], None] = ignore_ended
    served = partial(served_queues, app)
    end_messages: EndMessages = NoEndMessages()
    events: SessionEvents = NoSessionEvents()
    if app is not None:
        on_session_ended = _notify_reviews(ReviewQueue(lambda: app))
        end_messages = AppEndMessages(app)
        events = webhook_events(settings, client)
        graph = graph or TaskGraph(
            lambda: app,
            can_run=lambda need: can_run_here(agents(), served(), need),
            routes=WorkerRoutes(WorkerPresence(client), served=served),
            is_fast=agent_times.is_fast,
            weights=settings.tenant_weights,
            tenant_lanes=TenantLanes(client),
        )
    if graph is None:
        raise TypeError("either `app` or `graph` must be given")
    index = SessionIndex(client)
    secrets = secrets_in_use(settings)
    archiver = build_archiver(settings, client)
    return Runtime(
        stores=Stores(store, index, QueueProgress(client)),
        agents=Agents(
            registry=agents(),
            runner=AgentRunner(max_message_bytes=limits.max_message_bytes, secrets=secrets),
            leases=LeaseRenewer(store, lease_ms=limits.lease_ms),
            services=TurnServicesFactory(
                client,
                review_files=StoredReviewFiles(client),
                model_instrumentation=tracing.model_instrumentation if tracing else None,
                secrets=secrets,
                renew=partial(store.renew, lease_ms=limits.lease_ms),
            ),
            times=agent_times,
            served=served,
        ),
        sessions=Sessions(
            facts=FactsCache(store),
            opener=session_opener(settings, store, index, graph, lambda session: session),
            tree=ParentsAndChildren(),
            history=HistoryReader(store, archive=archiver.target.open_reader if archiver else no_archive),
        ),
        graph=graph,
        ports=Ports(
            memory=turn_memory(settings),
            recollections=turn_recollections(settings, client, archiver.target if archiver else None),
            metrics=MetricBuffer(MetricCounts(client)),
            held=held_sessions_of(app),
            archiver=archiver,
            tracing=tracing,
            on_session_ended=on_session_ended,
            end_messages=end_messages,
            events=events,
        ),
        limits=limits,
    )


def _notify_reviews(reviews: ReviewQueue) -> Callable[[SessionFacts], None]:
    return lambda facts: reviews.session_ended(facts.spec.parameters)


def with_current_agents(runtime: Runtime, agents: Callable[[], Registry]) -> Callable[[], Runtime]:
    """Return a function that returns the runtime for the work that begins now, with the agents of that moment."""
    newest = runtime

    def provide() -> Runtime:
        nonlocal newest
        current, registry = newest, agents()
        if current.agents.registry is not registry:
            newest = current = replace(current, agents=replace(current.agents, registry=registry))
        return current

    return provide


def per_process(build: Callable[[], T]) -> Callable[[], T]:
    """Return a function that calls `build` once per process: a forked child must not share connections."""
    lock = threading.Lock()
    built: dict[int, T] = {}

    def provide() -> T:
        pid = os.getpid()
        runtime = built.get(pid)
        if runtime is None:
            with lock:
                runtime = built.get(pid) or build()
                built.clear()
                built[pid] = runtime
        return runtime

    return provide


#: Value of a variable that is not set: a replay needs no API key. No text contains it by chance.
_PLACEHOLDER = "symposia-unset-variable"


def replay(
    job: ReadableJob, reader: ArchiveReader | None, settings: Settings, *, rerun: tuple[str, ...] = ()
) -> ReplayResult:
    """Replay the session of a job, with the agents of the settings; for `Client.replay`."""
    from ...replay.replay import replay_job

    registry = load_registry(
        settings,
        getenv=lambda name: read_variable(name) or _PLACEHOLDER,
        local_model=lambda: "http://127.0.0.1",
        import_modules=True,
    )
    return replay_job(job, reader, registry, secrets=secrets_in_use(settings), rerun=rerun)
