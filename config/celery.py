"""Settings of Celery, each with its reason, and Redis URLs in the form of Celery's transports.

Celery on Redis is not at-least-once: even with acknowledgements, a killed worker loses about one message in
some hundreds. So the message of a Celery task is only a hint: sessions are stored in Redis, and the sweep
sends lost messages again. With Redis as the broker, messages are therefore not acknowledged at all.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from redis.credentials import UsernamePasswordCredentialProvider

from ..models.errors import InvalidInput
from ..models.text.redact import HIDDEN
from ..models.text.redis_address import RedisAddress, RedisKind, split_key_prefix
from .field_types import is_redis
from .settings import Settings
from .sources import variable_of

#: Timeout of a Sentinel in seconds; then the next one is asked.
_SENTINEL_TIMEOUT_S = 2


class _Credentials(UsernamePasswordCredentialProvider):
    """Credentials that Flower and `celery inspect conf` do not show with the transport's options."""

    def __json__(self) -> str:
        return HIDDEN

    def __repr__(self) -> str:
        return HIDDEN


def to_celery_url(url: str) -> str:
    """Return a Redis URL in the form of Celery's transport; any other URL is returned unchanged.

    The transport accepts only the TLS options of a URL and fails for others. Without TLS options it trusts
    every certificate, so checking is enabled unless the URL disables it. Each Sentinel becomes a URL, with the
    credentials of the master.
    """
    url, _ = split_key_prefix(url)
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
    """Return the transport options for a Sentinel master; empty for another URL."""
    if not is_redis(url) or (address := RedisAddress.parse(url)).kind is not RedisKind.SENTINEL:
        return {}
    asked: dict[str, Any] = {
        "socket_timeout": _SENTINEL_TIMEOUT_S,
        "socket_connect_timeout": _SENTINEL_TIMEOUT_S,
        # None: if a Sentinel does not answer, ask the next one instead of retrying.
        "retry": None,
    }
    if address.sentinel:
        asked["credential_provider"] = _Credentials(**address.sentinel)
    if address.is_tls:
        asked |= {"ssl": True, **_tls(address)}
    return {"master_name": address.master, "sentinel_kwargs": asked}


def broker_tls(url: str) -> dict[str, str] | None:
    """Return Celery's `broker_use_ssl` for a Sentinel master: other transports read it from the URL."""
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


#: Default of the setting `queue`.
QUEUE: str = Settings.model_fields["queue"].default

#: Rotation of the queues of a worker, in kombu's Redis transport.
QUEUE_ORDER = "symposia.patches.queue_rotation:QueueRotation"

#: Options for kombu's Redis transport; other transports refuse them.
_REDIS_TRANSPORT = {
    # Do not store taken messages in the broker until they are acknowledged: that takes two transactions per
    # Celery task, a quarter of the time of a turn. The message of a killed worker is lost, and the sweep
    # sends the turn again, as it does for messages that are lost in other ways. A worker still takes no more
    # messages than it has threads, and returns them when it stops.
    "ack_emulation": False,
    # Take messages from the common queue and its lanes in rotation.
    "queue_order_strategy": QUEUE_ORDER,
    # One list for each queue, because no message of ours has a priority of Celery: a worker names all lists of its
    # queues for each message, by default four of each queue.
    "priority_steps": [0],
    # Timeout of a command in seconds.
    "socket_timeout": 5,
    # That timeout does not apply to the pending pop in the event loop. At this interval (seconds) the worker
    # checks whether its answer is overdue by the same time. So the loss of a server's machine or network is
    # noticed within 12 s; with the default of 25 s a worker was measured not to notice it for 46 s.
    "health_check_interval": 5,
    "socket_connect_timeout": 2,
    "socket_keepalive": True,
}


def celery_settings(settings: Settings, *, broker_url: str) -> dict[str, Any]:
    """Return the configuration of the Celery app that sends and runs turns.

    `broker_url` is the URL of the broker in use: that of the settings, else the Redis in use.
    """
    return {
        **_messages(settings),
        **_broker(settings, broker_url=broker_url),
        **_worker(settings),
        **_beat(),
        **_monitoring(),
    }


def _messages(settings: Settings) -> dict[str, Any]:
    return {
        # A separate queue, because other programs may use the same broker.
        "task_default_queue": settings.queue,
        # JSON only: a pickle in the queue could run code.
        "task_serializer": "json",
        "accept_content": ["json"],
        # Acknowledge the message after the turn, and requeue it if the process dies (over AMQP). A turn that
        # runs twice is written once, because its commit is fenced. Until then the message counts as taken.
        "task_acks_late": True,
        # Acknowledge the message of a failed turn, too: sessions retry their turns themselves.
        "task_acks_on_failure_or_timeout": True,
        "task_reject_on_worker_lost": True,
        # The output of turns is in the dialog; storing Celery results costs a fifth of the throughput.
        "task_ignore_result": True,
        "result_backend": None,
        "timezone": "UTC",
    }


def transport_options(broker_url: str) -> dict[str, Any]:
    """Return the options of the broker's transport that are not part of its URL."""
    if not has_redis_transport(broker_url):
        return {}
    prefix = split_key_prefix(broker_url)[1]
    own = {"global_keyprefix": prefix} if prefix else {}
    return {**_REDIS_TRANSPORT, **sentinel_options(broker_url), **own}


def check_queue_support(settings: Settings) -> None:
    """Check that the installed Celery supports the type of the queue.

    Raises:
        InvalidInput: It does not.
    """
    installed = version("celery")
    if settings.queue_type == "quorum" and tuple(map(int, installed.split(".")[:2])) < (5, 5):
        rule = f"needs Celery 5.5 or later, and Celery {installed} is installed"
        raise InvalidInput(variable_of("queue_type"), settings.queue_type, rule)


def _broker(settings: Settings, *, broker_url: str) -> dict[str, Any]:
    check_queue_support(settings)
    return {
        "broker_url": to_celery_url(broker_url),
        "broker_use_ssl": broker_tls(broker_url),
        # Wait without limit for an unavailable broker, at the start or later.
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        # Also wait for a Redis that refuses commands: read-only during a failover, or full.
        "broker_channel_error_retry": True,
        # Continue running turns when the broker is lost: they commit to Redis over another connection, and
        # their output is already paid for. Celery 6 would cancel them.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        # Keep the prefetch count after a lost connection. Celery would reduce it and restore it from the
        # threads that run the turns. Over AMQP two threads would then read from one socket, and the event
        # loop of the worker would wait forever for the broker's answer. Turns that are prefetched too early
        # only wait for a thread: the sweep sends the messages of turns that wait for too long again.
        "worker_enable_prefetch_count_reduction": False,
        # One connection for each thread that sends the next turn, one for the sweep, one spare.
        "broker_pool_limit": settings.worker_concurrency + 2,
        "broker_transport_options": transport_options(broker_url),
        # For quorum queues Celery limits the messages of each consumer instead of the channel, as RabbitMQ requires.
        "task_default_queue_type": settings.queue_type if broker_url.startswith("amqp") else "classic",
    }


def _worker(settings: Settings) -> dict[str, Any]:
    return {
        # Turns mostly wait for the network, so threads are enough. Celery has no time limits for threads: the
        # agent runner and the HTTP client apply a turn's deadline.
        "worker_pool": "threads",
        "worker_concurrency": settings.worker_concurrency,
        # A warm shutdown (SIGTERM, the first Ctrl-C) waits for the running turns without limit; the operator
        # decides when to kill. Another worker repeats a killed turn when its lease expires.
        "worker_soft_shutdown_timeout": 0,
        # Take a turn only when a thread is free, so that no turn waits for a slow one.
        "worker_prefetch_multiplier": 1,
        # Do not log the output of agents as warnings.
        "worker_redirect_stdouts": False,
        # Keep the log handlers of the embedding program.
        "worker_hijack_root_logger": False,
    }


def _beat() -> dict[str, Any]:
    return {
        # RedBeat keeps the schedules in Redis, so that they can be changed without a restart.
        "beat_scheduler": "symposia.workers.beat.beat:SchedulesInRedis",
        # Maximum seconds until a beat finds new schedules.
        "beat_max_loop_interval": 1,
    }


def _monitoring() -> dict[str, Any]:
    return {
        # Flower shows what was sent and what ran, with a readable summary of the arguments.
        "worker_send_task_events": True,
        "task_send_sent_event": True,
    }


def has_redis_transport(broker_url: str) -> bool:
    """Return whether a broker is a Redis, also one at a Unix socket."""
    return is_redis(broker_url) or broker_url.startswith("redis+socket://")
