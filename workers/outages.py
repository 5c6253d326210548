"""Log of outages of Redis and of the broker: one line at the begin, one a minute, one at the end, for a process.

Each loop of a worker, each turn and Celery's own consumer report every failed attempt. A filter of the log recognises
these records by their exception, writes the first one as the begin of the outage, and leaves out the others. A log of
level DEBUG has no such filter.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from kombu import Connection
from redis.exceptions import RedisError

from ..client.building.broker import broker_url_in_use
from ..client.building.connection import redis_url_in_use
from ..config.settings import Settings
from ..models.errors import BrokerUnavailable, RedisUnavailable, SymposiaError, UnsuitableRedis
from ..models.text.redact import without_password
from ..models.text.redis_address import RedisAddress
from ..models.text.words import count_of
from ..state.redis.connect import connect
from ..state.redis.connection_errors import LOST_CLUSTER_ERRORS
from ..tasks.runtime.graph import broker_error

log = logging.getLogger(__name__)

#: Seconds between two attempts to reach the server, and the limit of one.
_TRY_EVERY_S, _TRY_TIMEOUT_S = 1.0, 2.0
#: Seconds between two lines of one outage.
_REPORT_EVERY_S = 60.0
#: Seconds after its end in which attempts that began before may still report it.
_LATE_S = 5.0
#: What Celery logs about a task belongs to the task.
_TASKS = "celery.app.trace"


class OutageFilter(logging.Filter):
    """Logging filter that writes an outage in few lines; it must come before filters that replace arguments.

    Args:
        settings: Settings with the URLs of the servers.
        report_every_s: Seconds between two lines of one outage.
    """

    def __init__(self, settings: Settings, *, report_every_s: float = _REPORT_EVERY_S) -> None:
        super().__init__()
        self._report_every_s = report_every_s
        self._broker = broker_url_in_use(settings)
        memory = settings.memory_redis_url
        redis = [redis_url_in_use(settings), *([memory.get_secret_value()] if memory is not None else [])]
        self._answers: dict[str, Callable[[], bool]] = {}
        for url, answers in ((self._broker, _broker_answers), *((url, _redis_answers) for url in redis)):
            self._answers[without_password(url)] = lambda url=url, answers=answers: answers(url)  # type: ignore[misc]
        #: Lists of one number, of the records left out, by process (a fork has no thread of its parent) and server.
        self._left_out: dict[tuple[int, str], list[int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write the record; a record that several handlers get is judged once."""
        judged = vars(record)
        if "is_written" not in judged:
            judged["is_written"] = self._judge(record)
        return bool(judged["is_written"])

    def _judge(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING or (error := self._outage_of(record)) is None:
            return True
        key = os.getpid(), error.url
        # Atomic, and not a lock, which a fork might inherit locked.
        left_out = self._left_out.setdefault(key, mine := [0])
        if left_out is not mine:
            left_out[0] += 1
            return False
        # Symposia's own messages say what is affected, such as the dialog memory.
        text = record.getMessage() if record.name.startswith("symposia.") else str(error)
        record.msg, record.args = "%s; retrying, with a line a minute until it answers", (text,)
        record.exc_info = record.exc_text = None
        threading.Thread(target=self._watch, args=(key,), name="symposia-outage", daemon=True).start()
        return True

    def _outage_of(self, record: logging.LogRecord) -> RedisUnavailable | BrokerUnavailable | None:
        """Return the outage that a record reports; None if it reports something else."""
        if record.name == _TASKS:
            return None
        values = record.args if isinstance(record.args, tuple) else ()
        lost: tuple[type[Exception], ...] = ()
        if record.name.startswith(("symposia.", "celery.", "kombu.")):  # others may use servers of their own
            lost = (*LOST_CLUSTER_ERRORS, broker_error())
        if record.name.startswith(("celery.", "kombu.")):
            lost = (*lost, ConnectionError, TimeoutError, socket.gaierror)
        for error in (*values, record.exc_info[1] if record.exc_info else None):
            if isinstance(error, RedisUnavailable | BrokerUnavailable):
                is_known = error.url in self._answers and not isinstance(error, UnsuitableRedis)
                return error if is_known else None
            if isinstance(error, lost):
                kind = RedisUnavailable if _is_redis(self._broker) else BrokerUnavailable
                return kind(self._broker, hint=str(error).rstrip("."))
        return None

    def _watch(self, key: tuple[int, str]) -> None:
        """Report the outage each minute, until the server answers."""
        _, url = key
        began = reported = time.monotonic()
        while not self._answers[url]():
            if time.monotonic() - reported >= self._report_every_s:
                reported = time.monotonic()
                log.warning(
                    "%s has not answered for %.0f s (%s left out)",
                    url,
                    reported - began,
                    count_of(self._left_out[key][0], "message"),
                )
            time.sleep(_TRY_EVERY_S)
        log.warning("%s answers again after %.0f s", url, time.monotonic() - began)
        time.sleep(_LATE_S)
        del self._left_out[key]


def _is_redis(url: str) -> bool:
    with suppress(SymposiaError, ValueError):
        return bool(RedisAddress.parse(url))
    return False


def _redis_answers(url: str) -> bool:
    try:
        with connect(url, retries=0, timeout_s=_TRY_TIMEOUT_S) as client:
            return bool(client.ping())
    except (SymposiaError, RedisError, OSError):
        return False


def _broker_answers(url: str) -> bool:
    if _is_redis(url):
        return _redis_answers(url)
    try:
        with Connection(url, connect_timeout=_TRY_TIMEOUT_S) as connection:
            connection.connect()
    except Exception:  # noqa: BLE001 - also a broker that starts, or refuses the login, is one that does not answer
        return False
    return True
