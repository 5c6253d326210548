"""Settings of Celery, each with its reason, and Redis URLs as Celery's transports need them.

Celery on Redis is not at-least-once: a message is popped before it is noted as unacknowledged, and
one in some hundreds is lost with a killed worker. So a task message here is only a hint; sessions
live in Redis, and the sweep sends again what got lost. These settings make losses rare and cheap.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from redis.credentials import UsernamePasswordCredentialProvider

from ..models.text.redact import HIDDEN
from ..models.text.redis_address import RedisAddress, RedisKind
from .settings import Settings
from .urls import is_redis

#: Seconds in which a Sentinel has to answer before the next one is asked.
_SENTINEL_TIMEOUT_S = 2


class _Credentials(UsernamePasswordCredentialProvider):
    """Credentials that are not shown where Flower and `celery inspect conf` show the options of the transport."""

    def __json__(self) -> str:
        return HIDDEN

    def __repr__(self) -> str:
        return HIDDEN


def to_celery_url(url: str) -> str:
    """Return a Redis URL as Celery's transport needs it; any other as it is.

    Of the options the transport takes those of TLS and fails at others. Without any it trusts every certificate, so
    it is configured not to, unless the URL itself does. Each Sentinel is a URL, with the credentials of the master.
    """
    if not is_redis(url):
        return url
    address = RedisAddress.parse(url)
    parts = urlsplit(address.plain)
    path = _path(parts)
    if address.kind is RedisKind.SENTINEL:
        credentials = parts.netloc[: parts.netloc.rfind("@") + 1]
        nodes = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in address.nodes)
        return ";".join(f"sentinel://{credentials}{node}{path}" for node in nodes)
    return parts._replace(path=path, query=urlencode(_tls(address))).geturl()


def sentinel_options(url: str) -> dict[str, Any]:
    """Return the transport options for the master of Sentinels; nothing for another URL."""
    if not is_redis(url) or (address := RedisAddress.parse(url)).kind is not RedisKind.SENTINEL:
        return {}
    asked: dict[str, Any] = {
        "socket_timeout": _SENTINEL_TIMEOUT_S,
        "socket_connect_timeout": _SENTINEL_TIMEOUT_S,
        # None: one that does not answer is not tried again, but the next one asked.
        "retry": None,
    }
    if address.sentinel:
        asked["credential_provider"] = _Credentials(**address.sentinel)
    if address.is_tls:
        asked |= {"ssl": True, **_tls(address)}
    return {"master_name": address.master, "sentinel_kwargs": asked}


def broker_tls(url: str) -> dict[str, str] | None:
    """Return Celery's `broker_use_ssl` for the master of Sentinels: other transports read it from the URL."""
    if not sentinel_options(url):
        return None
    address = RedisAddress.parse(url)
    return _tls(address) if address.is_tls else None


def _tls(address: RedisAddress) -> dict[str, str]:
    options = dict(parse_qsl(urlsplit(address.plain).query, keep_blank_values=True))
    kept = {name: value for name, value in options.items() if name.startswith("ssl_")}
    if address.is_tls:
        kept.setdefault("ssl_cert_reqs", "required")
    return kept


def _path(parts: SplitResult) -> str:
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    return f"/{options['db']}" if "db" in options else parts.path


QUEUE = "symposia"

#: Options for kombu's Redis transport; other transports refuse them.
_REDIS_TRANSPORT = {
    # Seconds after which a message that a worker holds is delivered again. Nothing waits for that: the sweep
    # finds a dead worker's turn by its lease. A turn that lasts longer is delivered once more, and that
    # delivery finds the floor taken and ends.
    "visibility_timeout": 60,
    # Look for such messages every 5 s, and each time: the defaults look every 100 s.
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    # Seconds a worker killed during that look keeps the others from looking; the default is 300.
    "unacked_mutex_expire": 10,
    # Seconds to wait for the answer to a command.
    "socket_timeout": 5,
    # No such limit holds for the pop that is pending in the event loop: at this interval the worker checks
    # whether its answer is overdue by as many. So a server that was lost without a word (its machine, the
    # network) is noticed within 12 s; with the default of 25 s a worker was measured to stay deaf for 46 s.
    "health_check_interval": 5,
    "socket_connect_timeout": 2,
    "socket_keepalive": True,
}


def celery_settings(settings: Settings, *, broker_url: str) -> dict[str, Any]:
    """Return the configuration of the Celery app that sends and runs turns.

    `broker_url` is the broker in use: the one of the settings, or the Redis in use.
    """
    return {
        **_messages(),
        **_broker(settings, broker_url=broker_url),
        **_worker(settings),
        **_beat(),
        **_monitoring(),
    }


def _messages() -> dict[str, Any]:
    return {
        # A queue of its own, so that a broker shared with other programs stays untangled.
        "task_default_queue": QUEUE,
        # JSON only: a pickle from the queue could run code.
        "task_serializer": "json",
        "accept_content": ["json"],
        # Acknowledge after the turn, not before it, and give it back when its process dies. A turn
        # that ran twice is written once, because its commit is fenced.
        "task_acks_late": True,
        # A turn that failed is a failed task, and its message is done all the same: sessions retry their turns themselves.
        "task_acks_on_failure_or_timeout": True,
        "task_reject_on_worker_lost": True,
        # Turns answer in the dialog; storing their results as well costs a fifth of the throughput.
        "task_ignore_result": True,
        "result_backend": None,
        "timezone": "UTC",
    }


def transport_options(broker_url: str) -> dict[str, Any]:
    """Return the options of the broker's transport that are not part of its URL."""
    return {**_REDIS_TRANSPORT, **sentinel_options(broker_url)} if _has_redis_transport(broker_url) else {}


def _broker(settings: Settings, *, broker_url: str) -> dict[str, Any]:
    return {
        "broker_url": to_celery_url(broker_url),
        "broker_use_ssl": broker_tls(broker_url),
        # An unavailable broker, at the start or later, is waited for indefinitely.
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        # So is a Redis that answers, but refuses: read-only during a failover, or full.
        "broker_channel_error_retry": True,
        # A turn continues when the broker is lost: it commits to Redis over a connection of its own, and its output
        # is paid for. Celery 6 would cancel it.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        # After a lost connection take as many turns as before. Celery would take fewer at first and restore the number
        # from the threads that run the turns: over AMQP two threads then read from one socket, and the one that waits
        # for the broker's answer waits forever, which is the worker's event loop. Turns that are taken too early only
        # wait for a thread: the sweep sends those again that wait for too long.
        "worker_enable_prefetch_count_reduction": False,
        # A connection for each thread that sends the next turn, one for the sweep, one to spare.
        "broker_pool_limit": settings.worker_concurrency + 2,
        "broker_transport_options": transport_options(broker_url),
    }


def _worker(settings: Settings) -> dict[str, Any]:
    return {
        # Turns wait on networks, so threads do. Threads know no time limits: a turn's deadline is
        # kept by the agent runner and the HTTP client.
        "worker_pool": "threads",
        "worker_concurrency": settings.worker_concurrency,
        # A warm shutdown (SIGTERM, the first Ctrl-C) waits for the turns in flight, however long they take;
        # the operator decides when to kill. What is cut off then is taken over when its lease expires.
        "worker_soft_shutdown_timeout": 0,
        # Take a turn only when a thread is free for it: no turn waits for a slow one.
        "worker_prefetch_multiplier": 1,
        # Output that an agent prints is not a warning in the worker's log.
        "worker_redirect_stdouts": False,
        # The embedding program's log handlers stay in place.
        "worker_hijack_root_logger": False,
    }


def _beat() -> dict[str, Any]:
    return {
        # Schedules are kept in Redis by RedBeat, so that they change without a restart.
        "beat_scheduler": "symposia.workers.beat.beat:SchedulesInRedis",
        # Seconds after which a beat looks for schedules that were added.
        "beat_max_loop_interval": 1,
    }


def _monitoring() -> dict[str, Any]:
    return {
        # Flower shows what was sent and what ran, with a readable summary of the arguments.
        "worker_send_task_events": True,
        "task_send_sent_event": True,
    }


def _has_redis_transport(broker_url: str) -> bool:
    return is_redis(broker_url) or broker_url.startswith("redis+socket://")
