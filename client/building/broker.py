"""Broker of this process: its URL, connections, and checks of all servers in use.

Separate from `connection.py`, because it imports kombu, and a process that only reads sessions needs no queue.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kombu import Connection
from kombu.transport import TRANSPORT_ALIASES
from redis.exceptions import RedisError

from ...config.celery import broker_tls, has_redis_transport, to_celery_url, transport_options
from ...config.field_types import is_redis
from ...config.secrets import KnownSecrets
from ...config.settings import Settings, read_variable
from ...models.errors import BrokerUnavailable, InvalidInput, StateError, UnsuitableQueue, UnsuitableRedis
from ...models.text.redis_address import source_of, with_key_prefix
from ...state.redis.connect import check_reachable, connect
from .connection import redis_url_in_use, resolve_redis_url

#: Timeout in seconds for a server to report its kind.
_CHECK_TIMEOUT_S = 2.0


def urls_in_use(settings: Settings) -> tuple[str, ...]:
    """Return every URL this process connects to, passwords included."""
    configured = (settings.broker_url, settings.memory_redis_url, settings.database_url)
    urls = [url.get_secret_value() for url in configured if url is not None]
    urls += filter(None, [read_variable(settings.notices_smtp_url_env)])
    return tuple(urls if (redis := resolve_redis_url(settings)) is None else [redis, *urls])


def secrets_in_use(settings: Settings) -> KnownSecrets:
    """Return the secrets of this process, which its output must not contain."""
    files = (
        settings.agents_file or Path("agents.toml"),
        settings.deliveries_file or Path("deliveries.toml"),
        settings.webhooks_file or Path("webhooks.toml"),
    )
    return KnownSecrets(urls_in_use(settings), files)


def broker_url_in_use(settings: Settings) -> str:
    """Return the URL of the broker: the configured one, else the Redis in use.

    Raises:
        InvalidInput: Celery has no transport for the configured URL.
        NoRedis: As `redis_url_in_use`.
    """
    if settings.broker_url is None:
        return redis_url_in_use(settings)
    url = settings.broker_url.get_secret_value()
    scheme = url.partition("://")[0]
    if not is_redis(url) and scheme.partition("+")[0] not in TRANSPORT_ALIASES:
        rule = "must start with a transport that Celery supports, such as redis:// or amqp://"
        raise InvalidInput(source_of(url).setting, f"{scheme}://", rule)
    return with_key_prefix(url, settings.key_prefix) if has_redis_transport(url) else url


def broker_connection(url: str, *, timeout_s: float) -> Connection:
    """Return a connection to the broker at a URL from `broker_url_in_use`. Connects lazily."""
    return Connection(
        to_celery_url(url),
        connect_timeout=timeout_s,
        ssl=broker_tls(url) or False,
        transport_options=transport_options(url),
    )


def check_broker(url: str) -> None:
    """Connect to the broker once.

    Raises:
        BrokerUnavailable: The broker does not answer.
        UnsuitableRedis: A Redis is of another kind than its URL says.
    """
    try:
        if is_redis(url):
            with connect(url, retries=0, timeout_s=_CHECK_TIMEOUT_S) as client:
                check_reachable(client, url)
        with broker_connection(url, timeout_s=_CHECK_TIMEOUT_S) as broker:
            broker.ensure_connection(max_retries=1, timeout=3)
    except UnsuitableRedis:
        raise
    except Exception as error:
        raise BrokerUnavailable(url, hint=f"{str(error).rstrip('.')}; {source_of(url).cure}") from error


def check_servers(settings: Settings) -> None:
    """Check that the servers in use are of the kind that their URLs name.

    A server that does not answer is skipped; its users wait for it.

    Raises:
        UnsuitableRedis: One is of another kind, such as a node of a cluster.
    """
    for url in filter(is_redis, dict.fromkeys(urls_in_use(settings))):
        with connect(url, retries=0, timeout_s=_CHECK_TIMEOUT_S) as client:
            try:
                check_reachable(client, url)
            except UnsuitableRedis:
                raise
            except (StateError, RedisError, OSError):
                continue  # no answer, or no permission for the command


def check_queue_type(settings: Settings) -> None:
    """Check that the queue of the Celery tasks has the configured type, if it exists in RabbitMQ.

    Raises:
        UnsuitableQueue: It has another one.
    """
    url = broker_url_in_use(settings)
    if not url.startswith("amqp"):
        return
    with broker_connection(url, timeout_s=_CHECK_TIMEOUT_S) as broker:
        try:
            _channel(broker).queue_declare(settings.queue, passive=True)
        except broker.channel_errors:
            return  # a worker or client creates it
        arguments = {"x-queue-type": "quorum"} if settings.queue_type == "quorum" else None
        try:
            _channel(broker).queue_declare(
                settings.queue, durable=True, auto_delete=False, arguments=arguments
            )
        except broker.channel_errors as error:
            raise UnsuitableQueue(settings.queue, detail=str(error)) from error


def _channel(broker: Connection) -> Any:
    """Return a new channel: the broker closes one whose declaration fails."""
    return broker.channel()
