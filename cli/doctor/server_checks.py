"""Results of `symposia doctor`, and its checks of servers: Redis, and the queue of any broker.

A worker may announce itself and sweep, but consume no message: it listens to another broker or queue, or its
event loop is stuck. A queue that is not empty is no proof, because all workers may be busy. So each worker
announces its idle time: how long it has had a free slot without starting a Celery task. A worker that
announces an idle time again while messages are ready consumes nothing.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from redis import Redis
from redis.exceptions import RedisError

from ...client.building.broker import broker_connection, broker_url_in_use
from ...client.building.connection import redis_url_in_use
from ...config.settings import Settings
from ...models.errors import NoRedis, StateError, UnsuitableRedis
from ...models.text.redact import without_password
from ...models.text.redis_address import source_of
from ...models.text.words import count_of
from ...state.presence import WorkerEntry, WorkerPresence
from ...state.redis.cluster import info_by_server
from ...state.redis.connect import check_reachable, connect
from ...tasks.runtime.lanes import lane_queues

if TYPE_CHECKING:
    from kombu import Connection


class Grade(StrEnum):
    """Severity of a finding."""

    GOOD = "ok"
    #: Sessions run, but a problem should be fixed.
    WARNING = "warning"
    #: Sessions cannot run.
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check."""

    subject: str
    grade: Grade
    #: The result on one line, without secrets.
    text: str
    #: The remedy; empty if none is needed.
    advice: str = ""
    #: Numbers for monitoring: `owed` and `late` of the archive, `ready` of the queue, sessions by attention.
    counts: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, str | dict[str, int]]:
        """Return the finding as JSON data; without `counts` if there are none."""
        counts = {"counts": dict(self.counts)} if self.counts else {}
        facts = {"subject": self.subject, "grade": self.grade, "text": self.text, "advice": self.advice}
        return facts | counts


def good(subject: str, text: str, advice: str = "", counts: Mapping[str, int] | None = None) -> CheckResult:
    """Return a result without a problem."""
    return CheckResult(subject, Grade.GOOD, text, advice, counts or {})


def warning(subject: str, text: str, advice: str, counts: Mapping[str, int] | None = None) -> CheckResult:
    """Return a problem with which sessions run."""
    return CheckResult(subject, Grade.WARNING, text, advice, counts or {})


def bad(subject: str, text: str, advice: str) -> CheckResult:
    """Return a problem with which sessions cannot run."""
    return CheckResult(subject, Grade.BAD, text, advice)


def check_server(client: Redis, url: str) -> CheckResult:
    """Ask the server for its version.

    Args:
        client: Redis client of the server.
        url: URL of the server; the password is not shown.

    Raises:
        RedisUnavailable: The server does not answer, or is of another kind than the URL says.
    """
    text = f"{without_password(url)} answers, version {check_reachable(client, url)}"
    return good("Redis", f"{text}; from {source_of(url).name}")


def unreachable_server(url: str, error: Exception) -> CheckResult:
    """Return the finding for a server that has never answered."""
    if isinstance(error, NoRedis):
        return bad("Redis", str(error).removesuffix(f": {error.hint}"), error.hint)
    if isinstance(error, UnsuitableRedis):
        return bad("Redis", f"{error.url} is {error.hint}", f"change {source_of(url).setting}")
    text = f"{without_password(url)} does not answer: {error.__cause__ or error}"
    return bad("Redis", text, source_of(url).cure)


def failed_server(url: str, error: Exception) -> CheckResult:
    """Return the finding for a server that answered and then failed."""
    text = f"{without_password(url)} answered, but a later command failed: {error}"
    return bad("Redis", text, "check the log of Redis and the permissions of this Redis user")


def check_durability(client: Redis) -> Iterator[CheckResult]:
    """Check for settings with which a server loses data. Managed servers may hide them."""
    memory = info_by_server(client, "memory")
    for node, facts in info_by_server(client, "persistence").items():
        named = f"{node} " if node else ""
        if not facts.get("aof_enabled"):
            text = f"{named}writes no append-only file: sessions are lost when the server stops"
            yield warning(
                "Redis", text, "run CONFIG SET appendonly yes, and set it in the configuration file"
            )
        yield from _check_memory(named, memory.get(node, {}))
        policy = memory.get(node, {}).get("maxmemory_policy", "noeviction")
        if policy != "noeviction":
            text = f"{named}evicts keys when its memory is full (maxmemory-policy {policy})"
            advice = "run CONFIG SET maxmemory-policy noeviction, and set it in the configuration file"
            yield warning("Redis", text, advice)


def _check_memory(named: str, facts: Mapping[str, Any]) -> Iterator[CheckResult]:
    # The server does not count all of its memory, such as buffers of the append-only file.
    used = int(facts.get("used_memory", 0)) - int(facts.get("mem_not_counted_for_evict", 0))
    most = int(facts.get("maxmemory", 0))
    if not most or used < most * _NEARLY_FULL:
        return
    is_full = used >= most and facts.get("maxmemory_policy") == "noeviction"
    text = f"{named}uses {used:,} of {most:,} bytes (maxmemory)"
    yield CheckResult(
        "Redis",
        Grade.BAD if is_full else Grade.WARNING,
        f"{text}: it refuses writes" if is_full else text,
        "raise maxmemory, or shorten SYMPOSIA_RETENTION_S",
    )


#: Part of maxmemory that is used before `doctor` warns.
_NEARLY_FULL = 0.9
#: Idle milliseconds after which a healthy worker takes a message within milliseconds.
IDLE_MS = 10_000
#: Minimum milliseconds between two announcements; a burst of messages fills all slots of a worker in less
#: time.
_APART_MS = 2_000
#: Maximum seconds until the second announcement of a worker.
_ANNOUNCE_TIMEOUT_S = 10.0
_LOOK_EVERY_S = 0.25
#: Seconds to connect to the broker.
_TIMEOUT_S = 2.0


def check_queue(client: Redis, settings: Settings) -> Iterator[CheckResult]:
    """Compare the queue with the workers.

    Yields nothing if the broker does not answer, because another check reports that.

    When messages are ready and a worker was idle, this waits for its next announcement, for about ten
    seconds.

    Args:
        client: Redis client of the server with the sessions.
        settings: Settings of this process; the workers should have the same.
    """
    with broker_connection(broker_url_in_use(settings), timeout_s=_TIMEOUT_S) as broker:
        try:
            broker.ensure_connection(max_retries=1, timeout=3)
            ready = ready_messages(broker, settings.queue)
        except Exception:  # noqa: BLE001 - each transport raises its own
            return
        book = WorkerPresence(client)
        stuck = (
            list(_stuck(book, lambda: _still_ready(broker, settings.queue), _ANNOUNCE_TIMEOUT_S))
            if ready
            else []
        )
    yield from _findings(ready, stuck, is_any_left=len(stuck) < len(book.list_alive()))


def _findings(ready: int, stuck: Sequence[WorkerEntry], *, is_any_left: bool) -> Iterator[CheckResult]:
    counts = {"ready": ready}
    if not stuck:
        yield good("queue", f"{count_of(ready, 'message is', 'messages are')} ready", counts=counts)
    for worker in stuck:
        text = (
            f"{count_of(ready, 'message is', 'messages are')} ready, but {worker.name} takes none: "
            f"it has free slots and has started no Celery task for {(worker.idle_ms or 0) // 1000} s"
        )
        advice = (
            "restart the worker; if that does not help, compare its SYMPOSIA_BROKER_URL and queue with yours"
        )
        yield CheckResult("queue", Grade.WARNING if is_any_left else Grade.BAD, text, advice, counts)


def ready_messages(broker: Connection, queue: str) -> int:
    """Return the number of messages in the queue and its lanes that no worker has taken yet; 0 without a queue."""
    lanes = lane_queues(queue) if broker.transport.driver_type == "redis" else ()
    return sum(_ready_in(broker, name) for name in (queue, *lanes))


def _ready_in(broker: Connection, queue: str) -> int:
    # A separate channel: the broker closes a channel that asks for a queue that does not exist.
    channel: Any = broker.channel()
    with closing(channel):
        try:
            return int(channel.queue_declare(queue, passive=True).message_count)
        except broker.channel_errors:
            return 0


def _still_ready(broker: Connection, queue: str) -> int:
    """Like `ready_messages`; 0 if the broker is unavailable, which proves nothing about a worker."""
    try:
        return ready_messages(broker, queue)
    except Exception:  # noqa: BLE001 - each transport raises its own
        return 0


def _stuck(book: WorkerPresence, ready: Callable[[], int], wait_s: float) -> Iterator[WorkerEntry]:
    """Yield idle workers that announce themselves as idle again while messages are still ready."""
    began = time.monotonic()
    suspects = {worker.name for worker in book.list_alive() if _is_idle(worker)}
    while suspects and time.monotonic() < began + wait_s:
        time.sleep(_LOOK_EVERY_S)
        if not ready():
            return
        waited_ms = (time.monotonic() - began) * 1000
        for worker in book.list_alive():
            if worker.name in suspects and worker.age_ms < waited_ms - _APART_MS:
                suspects.discard(worker.name)
                if _is_idle(worker):
                    yield worker


def _is_idle(worker: WorkerEntry) -> bool:
    return worker.idle_ms is not None and worker.idle_ms >= IDLE_MS


def check_host_workers(settings: Settings) -> Iterator[CheckResult]:
    """Check that a worker of this host runs: it has announced itself to Redis recently.

    Args:
        settings: Settings of the worker.
    """
    host = socket.gethostname()
    try:
        url = redis_url_in_use(settings)
    except NoRedis as error:
        yield unreachable_server("", error)
        return
    with connect(url, retries=0) as client:
        try:
            check_server(client, url)
            alive = [
                worker for worker in WorkerPresence(client).list_alive() if worker.name.endswith(f"@{host}")
            ]
        except (StateError, RedisError, OSError) as error:
            yield unreachable_server(url, error)
            return
    if not alive:
        text = f"no worker of the host {host} has announced itself within 30 s"
        yield bad("workers", text, "read the log of the worker, and restart it")
    for worker in alive:
        text = f"{worker.name} announced itself {worker.age_ms / 1000:.1f} s ago"
        yield good("workers", text)
