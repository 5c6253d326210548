"""Checks of `symposia doctor`: each finding has a problem and its remedy."""

from __future__ import annotations

from collections.abc import Iterator

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from ...client.building.app import load_deliveries
from ...client.building.broker import broker_url_in_use, check_broker, check_queue_type
from ...client.building.connection import archive_url, open_archive, resolve_redis_url
from ...client.building.memory import dialog_memory, memory_url, pending_notes, recollections_of
from ...client.building.workspace import count_overdue_tasks
from ...client.webhooks.webhooks_file import load_webhooks
from ...config.project import describe_owner
from ...config.settings import Settings
from ...jobs.conditions import ATTENTIONS
from ...jobs.session_condition import ConditionReader
from ...models.errors import (
    ArchiveError,
    BrokerUnavailable,
    DeliveryFailed,
    InvalidInput,
    MissingPackage,
    NoRedis,
    RedisUnavailable,
    StateError,
    UnsuitableQueue,
    UnsuitableRedis,
)
from ...models.memory.recollections import Scope
from ...models.text.redact import without_password
from ...models.text.redis_address import source_of
from ...models.text.words import count_of
from ...reviews.delivery.destinations import Destinations
from ...reviews.panels import OPTIONAL_PROGRAMS, program_versions
from ...reviews.state.queues import DeliveryQueue
from ...schedules.schedules import Schedules
from ...schedules.store import ScheduleStore
from ...state.presence import BeatPresence, WorkerPresence, all_agents
from ...state.redis.connect import connect
from ...state.redis.keys import DUE, REVIEWS_DUE
from ...state.redis.readers import server_ms
from ...state.sessions.archiving import ArchiveQueue
from ...state.webhooks import DeliveryState, WebhookStore
from ...state.worker_routes import AwaitedAgents, describe_awaited, find_unserved
from ...workers.local.code_check import importing_as_workers
from .http_checks import check_http
from .machine_checks import (
    check_agents,
    check_local_model,
    check_mcp_tools,
    check_packages,
    check_python,
    check_settings,
    check_traces,
)
from .server_checks import (
    CheckResult,
    bad,
    check_durability,
    check_queue,
    check_server,
    failed_server,
    good,
    unreachable_server,
    warning,
)

#: Milliseconds after the due time; a session or review that is later is processed by no worker.
OVERDUE_MS = 30_000
#: Attentions of sessions that are faults; the others are waits.
_FAULTS = ("unreadable", "lost", "worker", "stuck")
#: Milliseconds in the archive queue after which a session is late.
ARCHIVE_LATE_MS = 180_000


def run_checks(settings: Settings, *, probe: bool = False) -> Iterator[CheckResult]:
    """Run all checks in order; a problem is a finding, never an exception.

    Args:
        settings: Settings of this process; the workers should have the same.
        probe: Whether each endpoint of a model is asked for one token.
    """
    yield check_python()
    yield from check_packages()
    yield from check_settings(settings)
    yield from check_mcp_tools(settings)
    yield from check_agents(settings, probe=probe)
    yield from check_http(settings)
    yield check_local_model(settings)
    yield check_traces()
    url = resolve_redis_url(settings)
    if url is None:
        yield unreachable_server("", NoRedis(describe_owner(settings.data_dir)))
    else:
        with connect(url, retries=0) as client:
            try:
                yield check_server(client, url)
            except (RedisUnavailable, RedisError, OSError) as error:
                yield unreachable_server(url, error)
            else:
                yield from _on_server(client, url, settings)
    if url is not None or settings.memory_redis_url is not None:
        yield _memory(settings)
    yield from _long_term_memory(settings, url)
    try:
        yield from _archive(settings)
        yield from _tasks(settings)
    except MissingPackage as error:
        advice = f"pip install 'symposia[{error.extra}]', or set SYMPOSIA_ARCHIVE=false"
        yield bad("archive", f"needs the package {error.package}", advice)
    if url is not None or settings.broker_url is not None:
        yield from _broker(settings, url)
    yield _review_tools()


def _review_tools() -> CheckResult:
    """Report the versions of the programs that review code."""
    versions = program_versions()
    missing = [name for name in OPTIONAL_PROGRAMS if name not in versions]
    shown = ", ".join(f"{name} {number}" for name, number in versions.items()) or "none is installed"
    return good("review tools", f"{shown}; not installed: {', '.join(missing)}" if missing else shown)


def _on_server(client: Redis, url: str, settings: Settings) -> Iterator[CheckResult]:
    """Check the data on a server that has answered."""
    try:
        yield from check_durability(client)
        yield from _workers(client)
        yield from _heartbeats(client, settings)
        yield from check_queue(client, settings)
        yield _unfinished(client, subject="sessions", index=DUE)
        yield from _attention(client, settings)
        yield _unfinished(client, subject="reviews", index=REVIEWS_DUE)
        yield _archive_queue(client, settings)
        yield from _schedules(client)
        yield from _deliveries(client, settings)
        yield from _webhooks(client, settings)
    except (StateError, RedisError, OSError) as error:
        yield failed_server(url, error)


def _workers(client: Redis) -> Iterator[CheckResult]:
    alive = WorkerPresence(client).list_alive()
    if not alive:
        yield bad("workers", "no worker is running", "start one: symposia worker, or symposia up")
    for worker in alive:
        yield good("workers", f"{worker.name} has the agents {', '.join(sorted(worker.agents))}")
    apart = [name for name in sorted(all_agents(alive)) if not all(name in worker.agents for worker in alive)]
    if apart:
        text = f"not every worker has {', '.join(apart)}: their turns go to the workers that have them"
        advice = "if that is not intended, check the folder and the agents file of each worker"
        yield warning("workers", text, advice)
    if needs := find_unserved(alive):
        yield warning(
            "queues", describe_awaited(needs), "start a worker of the queue: symposia worker --queue NAME"
        )
    for agent, count in sorted(AwaitedAgents(client).count().items()):
        text = f"{describe_awaited([agent])}: {count_of(count, 'session')} {'wait' if count > 1 else 'waits'} for it"
        advice = (
            "start a worker with it (and its queue), or cancel the sessions: symposia list --attention worker"
        )
        yield warning("agents", text, advice)


def _heartbeats(client: Redis, settings: Settings) -> Iterator[CheckResult]:
    """Report workers whose end is not noticed."""
    if silent := [worker.name for worker in WorkerPresence(client).list_alive() if not worker.process]:
        text = (
            f"no heartbeat process beside {', '.join(silent)}: if killed, turns wait {settings.lease_s:g} s"
        )
        yield warning("workers", text, "read the log of the worker, or update it")


def _unfinished(client: Redis, *, subject: str, index: str) -> CheckResult:
    """Report the number of unfinished sessions or reviews, and how many of them no worker processes."""
    unfinished = client.zcard(index)
    overdue = client.zcount(index, "-inf", server_ms(client) - OVERDUE_MS)
    if not overdue:
        return good(subject, f"{unfinished} unfinished")
    text = f"{overdue} of {unfinished} unfinished {subject} are overdue: no worker processes them"
    return warning(subject, text, "start a worker: symposia worker, or symposia up")


def _attention(client: Redis, settings: Settings) -> Iterator[CheckResult]:
    """Report sessions that do not move, and wait neither for a person nor for a retry."""
    counts = ConditionReader(client, stuck_ms=int(settings.stuck_after_s * 1000)).count_attentions()
    for kind in _FAULTS:
        if count := counts[kind]:
            text = f"{count_of(count, 'session', spec=',')}: {ATTENTIONS[kind]}"
            yield warning("sessions", text, f"to see why: symposia list --attention {kind}", {kind: count})


def _deliveries(client: Redis, settings: Settings) -> Iterator[CheckResult]:
    """Check the deliveries of reports: destinations, their problems, failed deliveries."""
    index = DeliveryQueue(client)
    try:
        deliveries = load_deliveries(settings)
    except InvalidInput as error:
        yield warning("deliveries", str(error), "correct this file; until then, no report is delivered")
        return
    if names := deliveries.names():
        text = f"destinations: {', '.join(names)}; {index.waiting()} pending reports"
        yield good("deliveries", text)
    for problem in deliveries.problems():
        yield warning("deliveries", problem, "delivery of its reports fails until this is fixed")
    for line in index.failures(count=3):
        yield warning("deliveries", f"delivery failed: {line}", "to read the report: symposia review show ID")
    yield from _pull_requests(client, deliveries)


def _webhooks(client: Redis, settings: Settings) -> Iterator[CheckResult]:
    """Check the webhooks file: its problems, and failed deliveries."""
    try:
        config = load_webhooks(settings)
    except InvalidInput as error:
        yield warning("webhooks", str(error), "correct this file; no worker starts with it")
        return
    if not (config.webhooks or config.hooks):
        return
    store = WebhookStore(client)
    outgoing, incoming = (", ".join(sorted(names)) or "none" for names in (config.webhooks, config.hooks))
    yield good(
        "webhooks", f"outgoing: {outgoing}; incoming: {incoming}; {store.waiting()} pending deliveries"
    )
    for problem in config.problems():
        yield warning("webhooks", problem, "set it for the workers and `symposia serve`, which use it")
    failed = [delivery for delivery in store.deliveries() if delivery.state is DeliveryState.FAILED]
    for delivery in failed[:3]:
        text = f"delivery of {delivery.event} to {delivery.webhook} failed: {delivery.error}"
        yield warning(
            "webhooks", text, f"to send it again: symposia webhook send {delivery.webhook} {delivery.id[:8]}"
        )


def _pull_requests(client: Redis, deliveries: Destinations) -> Iterator[CheckResult]:
    """Report schedules that cannot list the pull requests of their code host."""
    for entry in Schedules(ScheduleStore(client), lambda _: None).entries():
        review = entry.schedule.review
        if review is None or review.open_pull_requests is None:
            continue
        try:
            deliveries.code_host(review.open_pull_requests)
        except (InvalidInput, DeliveryFailed) as error:
            text = f"{entry.schedule.name} cannot list pull requests: {review.open_pull_requests}: {error}"
            yield warning("schedules", text, "none is reviewed until this is fixed")


def _archive_queue(client: Redis, settings: Settings) -> CheckResult:
    """Report the archive queue: keys of its sessions stay in Redis."""
    owed = ArchiveQueue(client)
    number, late = owed.count(), owed.count(before_ms=server_ms(client) - ARCHIVE_LATE_MS)
    counts = {"owed": number, "late": late}
    if not number or (settings.archive and not late):
        return good(
            "archive", f"{count_of(number, 'session')} in the archive queue, none late", counts=counts
        )
    text = f"{late} of {count_of(number, 'session')} in the archive queue are late: Redis keeps their keys until they are archived"
    advice = "start a worker that can reach the database" if settings.archive else "set SYMPOSIA_ARCHIVE=true"
    return warning("archive", text, advice, counts)


def _schedules(client: Redis) -> Iterator[CheckResult]:
    """Report beats, and schedules whose last run failed."""
    schedules = Schedules(ScheduleStore(client), lambda _: None).entries()
    beats, number = BeatPresence(client).list_alive(), len(schedules)
    if beats or not number:
        runs = f"{len(beats)} running" if beats else "none is running, none is needed"
        yield good("beat", f"{runs}; {count_of(number, 'schedule')}")
    else:
        text = f"no beat is running: {count_of(number, 'schedule depends', 'schedules depend')} on the sweep of the workers and start late"
        yield warning("beat", text, "start one: symposia beat, or symposia up")
    for entry in schedules:
        if entry.problem:
            name = entry.schedule.name
            yield warning(
                "schedules", f"{name} {entry.problem}", f"to see its runs: symposia schedule history {name}"
            )


def _archive(settings: Settings) -> Iterator[CheckResult]:
    """Check the database of the archive."""
    url, archive = archive_url(settings), open_archive(settings)
    if url is None or archive is None:
        yield good("archive", "disabled (SYMPOSIA_ARCHIVE)")
        return
    where = without_password(url)
    if not archive.database.exists:
        yield good("archive", f"{where}, created when the first session is archived")
        return
    try:
        with archive.database.reading():
            yield good("archive", where)
        for path, mode in archive.database.exposed_files():
            text = f"other users have permissions on {path} (mode {mode:04o})"
            advice = f"chmod go= '{path}', or move the archive to a separate folder (SYMPOSIA_DATABASE_URL)"
            yield warning("archive", text, advice)
    except ArchiveError as error:
        yield warning("archive", str(error), "sessions run, and are archived when the database answers")
    finally:
        archive.close()


def _tasks(settings: Settings) -> Iterator[CheckResult]:
    """Report tasks whose request ended before the decision of their task-manager."""
    archive = open_archive(settings)
    if archive is None or not archive.database.exists:
        return
    try:
        left = count_overdue_tasks(archive)
    except ArchiveError:  # reported already, or there are no tables yet
        return
    finally:
        archive.close()
    if left:
        text = f"{left} waiting for a decision that will not come: the requesting process has ended"
        yield warning("tasks", text, "start a worker: workers mark these tasks as failed within a minute")


def _memory(settings: Settings) -> CheckResult:
    """Check dialog memory, and report its recent events."""
    where = without_password(memory_url(settings))
    try:
        counts = dialog_memory(settings).counts()
    except UnsuitableRedis as error:
        text = f"{error.url} is {error.hint}"
        return warning("memory", text, "turns run without memory until this is fixed")
    except (RedisUnavailable, RedisError, OSError) as error:
        problem = "refuses commands" if isinstance(error, ResponseError) else "does not answer"
        text = f"{where} {problem}: {error.__cause__ or error}"
        return warning("memory", text, "turns run without memory until it answers")
    parts = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
    rules = f"rooms expire after {settings.memory_ttl_s} s, maximum size {settings.memory_max_bytes} bytes"
    if counts.get("corrupt") or counts.get("degraded"):
        advice = "search the logs of the workers for `dialog memory`"
        return warning("memory", f"{rules}; recent events: {parts}", advice)
    return good("memory", f"{rules}; recent events: {parts}" if parts else rules)


def _long_term_memory(settings: Settings, url: str | None) -> Iterator[CheckResult]:
    """Check a store of the long-term memory that is not the archive, and report notes that wait for the store."""
    name = "long-term memory"
    if settings.recall_store is not None:
        advice = "turns run without it until this is fixed; notes wait for a week"
        try:
            with importing_as_workers():
                store = recollections_of(settings, None)
                list(store.recall("doctor", scope=Scope.of("tenant", "symposia-doctor"), limit=1))
        except InvalidInput as error:
            yield warning(name, str(error), advice)
        except Exception as error:  # noqa: BLE001 - a store may be any code
            yield warning(
                name, f"{settings.recall_store} does not answer: {type(error).__name__}: {error}", advice
            )
        else:
            yield good(name, f"in {settings.recall_store}")
    try:
        waiting = 0 if url is None else pending_notes(url)
    except (RedisUnavailable, RedisError, OSError):  # reported already
        return
    if waiting:
        text = f"notes of {count_of(waiting, 'turn')} wait for the store"
        yield warning(name, text, "start a worker; search its log for `long-term memory`")


def _broker(settings: Settings, redis_url: str | None) -> Iterator[CheckResult]:
    """Check the broker, if it is another server than the one with the sessions."""
    url = broker_url_in_use(settings)
    if url == redis_url:
        return
    try:
        check_broker(url)
        check_queue_type(settings)
    except UnsuitableRedis as error:
        yield bad("broker", f"{error.url} is {error.hint}", f"change {source_of(url).setting}")
    except UnsuitableQueue as error:
        yield bad("broker", str(error), "set SYMPOSIA_QUEUE_TYPE to the type of the queue, or delete it")
    except BrokerUnavailable as error:
        text = without_password(f"{error.url}: {error.__cause__}")
        yield bad("broker", text, source_of(url).cure)
    else:
        yield good("broker", f"{without_password(url)} answers")
