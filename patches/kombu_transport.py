"""kombu's Redis transport with one client per channel, a pool of broker connections that belongs to one app,
and a size limit of the messages that a worker decodes.

One client per channel: a channel of kombu 5.7.0 creates a client of redis-py for every command: to send a
task, to store it as unacknowledged, to acknowledge it, for each of its events. Creating a client costs as
much as the command, and all of them cost a third of a bare Celery task. A client holds nothing but its pool,
and any thread may use it, so a channel keeps one for as long as it has the same pool. Upstream:
redis/redis-py#3624 (creating a client is slow); no issue of kombu found. Remove
`_OneClientMixin._create_client` when `test_kombu_makes_a_client_for_each_command` fails.

A pool per app: Celery takes its pools from a table of the process: apps that use the same broker share them,
so closing one app's connections would close those of all others.

Size limit: messages of Symposia have a few hundred bytes. JSON takes up to twenty times its length once it is
decoded, and compressed text a thousand times, so one message could fill a worker's memory. Upstream: kombu
5.7.0 has no limit, no issue found. Remove the limit when `test_kombu_decompresses_without_a_limit` fails, if
the new limit can be set.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from functools import cached_property
from typing import Any

from celery.app.amqp import AMQP
from kombu import Connection, compression
from kombu.connection import ConnectionPool, PooledConnection
from kombu.pools import ProducerPool
from kombu.transport import redis
from redis.exceptions import ConnectionError  # noqa: A004 - the transport's error for a lost connection

from .celery_events import SentEventDispatcher
from .redis_connections import PACKER, MasterConnection, MasterTlsConnection

log = logging.getLogger(__name__)

#: Maximum bytes of a message as received from the broker.
MAX_MESSAGE_BYTES = 1_048_576


class RefusedMessage(ValueError):
    """Error for a message that is too large, or compressed."""


def is_oversized(raw: object) -> bool:
    """Return whether a received message is longer than `MAX_MESSAGE_BYTES`."""
    return isinstance(raw, (bytes, str, memoryview)) and len(raw) > MAX_MESSAGE_BYTES


def check_size(raw: Any) -> None:
    """Raise RefusedMessage for a message that is too large."""
    if is_oversized(raw):
        raise RefusedMessage(f"{len(raw):,} bytes exceed the limit of {MAX_MESSAGE_BYTES:,}")


def check_popped(client: Any) -> None:
    """Make a redis-py client check the messages that it pops from a queue, before kombu decodes them."""
    usual: Callable[..., Any] = client.response_callbacks["BRPOP"]

    def checked(reply: Any, **options: Any) -> Any:
        if reply:
            check_size(reply[1])
        return usual(reply, **options)

    client.set_response_callback("BRPOP", checked)


def refuse_compressed() -> None:
    """Make kombu refuse compressed messages in this process. Symposia sends none."""
    for name in compression.encoders():
        found: Any = compression.get_encoder(name)  # a pair, contrary to its annotation
        encoder, content_type = found
        compression.register(encoder, _refuse, content_type)


def _refuse(_: object) -> bytes:
    raise RefusedMessage("compressed messages are not accepted")


class _OneClientMixin:
    """Changes of kombu's channels: one client per channel, the packer, a limit of broadcasts."""

    _kept: Any = None

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        return {**super()._connparams(asynchronous), "command_packer": PACKER}  # type: ignore[misc]

    def _create_client(self, asynchronous: bool = False) -> Any:
        if self.closed:  # type: ignore[attr-defined]  # kombu's AttributeError is no lost connection
            raise ConnectionError("channel closed with its connection")
        if asynchronous:  # for the event loop: kombu keeps this client itself
            return super()._create_client(asynchronous=True)  # type: ignore[misc]
        kept = self._kept
        if kept is None or kept.connection_pool is not self.pool:  # type: ignore[attr-defined]
            kept = self._kept = super()._create_client()  # type: ignore[misc]
        return kept

    def _handle_message(self, client: Any, reply: Any) -> dict[str, Any]:
        message: dict[str, Any] = super()._handle_message(client, reply)  # type: ignore[misc]
        if not is_oversized(message["data"]):
            return message
        log.error("dropping broadcast of %s bytes (limit %s)", len(message["data"]), MAX_MESSAGE_BYTES)
        return {**message, "data": b""}


class OneClientChannel(_OneClientMixin, redis.Channel):
    """kombu's channel, with one client."""


class OneClientSentinelChannel(_OneClientMixin, redis.SentinelChannel):
    """kombu's channel to a Sentinel master, with one client."""

    connection_class = MasterConnection
    connection_class_ssl = MasterTlsConnection


class OneClientTransport(redis.Transport):
    """kombu's Redis transport, with `OneClientChannel`."""

    Channel = OneClientChannel


class OneClientSentinelTransport(redis.SentinelTransport):
    """kombu's transport to a Sentinel master, with `OneClientSentinelChannel`."""

    Channel = OneClientSentinelChannel


_OURS = {redis.Transport: OneClientTransport, redis.SentinelTransport: OneClientSentinelTransport}


class _TransportMixin:
    def get_transport_cls(self) -> Any:
        """As in Connection."""
        usual = super().get_transport_cls()  # type: ignore[misc]
        return _OURS.get(usual, usual)


class _Pooled(_TransportMixin, PooledConnection):
    """A connection of `_Pool`."""


class _Pool(ConnectionPool):
    def new(self) -> Any:
        """As in ConnectionPool, whose class of connections is fixed."""
        return _Pooled(self, **dict(self.connection._info(resolve=False)))  # noqa: SLF001 - as kombu


class OneClientConnection(_TransportMixin, Connection):
    """kombu's connection, with the transports of this module for Redis, and kombu's for other brokers."""

    def Pool(self, limit: int | None = None, **options: Any) -> Any:  # noqa: N802 - kombu's name
        """As in Connection."""
        return _Pool(self, limit, **options)


class OneClientMessages(AMQP):
    """Celery's `amqp` class, which sends the messages of an app over `OneClientConnection`."""

    Connection = OneClientConnection

    @cached_property
    def sent_events(self) -> SentEventDispatcher:
        """Dispatcher of events about the tasks that the app sends."""
        return SentEventDispatcher(super()._event_dispatcher)  # type: ignore[misc]

    @property
    def _event_dispatcher(self) -> SentEventDispatcher:
        return self.sent_events


class OwnPoolMessages(OneClientMessages):
    """Celery's `amqp` class with a connection pool of this app alone."""

    _producer_pool: Any

    @property
    def producer_pool(self) -> Any:
        """As in AMQP."""
        if self._producer_pool is None:
            connection, limit = self.app.connection_for_write(), self.app.conf.broker_pool_limit
            self._producer_pool = ProducerPool(connection.Pool(limit=limit), limit=limit)
            # Close the connections of an app without references, too: RabbitMQ's do not close by themselves.
            weakref.finalize(self.app, _close, self._producer_pool).atexit = False
        return self._producer_pool

    def close(self) -> None:
        """Close the connections of the pool."""
        if (pool := self._producer_pool) is not None:
            _close(pool)


def _close(pool: Any) -> None:
    pool.connections.force_close_all()
    pool.force_close_all()
