"""kombu's Redis transport with one client per channel, and a pool of broker connections that belongs to one app.

One client per channel: a channel of kombu 5.7.0 creates a client of redis-py for every command: to send a
task, to store it as unacknowledged, to acknowledge it, for each of its events. Creating a client costs as
much as the command, and all of them cost a third of a bare Celery task. A client holds nothing but its pool,
and any thread may use it, so a channel keeps one for as long as it has the same pool. Upstream:
redis/redis-py#3624 (creating a client is slow); no issue of kombu found. Remove
`_OneClientMixin._create_client` when `test_kombu_makes_a_client_for_each_command` fails.

A pool per app: Celery takes its pools from a table of the process: apps that use the same broker share them,
so closing one app's connections would close those of all others.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from celery.app.amqp import AMQP
from kombu import Connection
from kombu import connection as kombu_connection
from kombu.connection import ConnectionPool
from kombu.pools import ProducerPool
from kombu.transport import pyamqp, redis
from redis.exceptions import ConnectionError  # noqa: A004 - the transport's error for a lost connection

from .broker_messages import (
    ReadableAmqpTlsTransport,
    ReadableAmqpTransport,
    ReadableChannel,
    ReadableTransport,
    check_popped,
)
from .celery_events import SentEventDispatcher
from .redis_connections import PACKER, MasterConnection, MasterTlsConnection


class _OneClientMixin:
    """Changes of kombu's channels: one client per channel, the packer."""

    _kept: Any = None
    _recorder: Any = None

    @contextmanager
    def recording(self, recorder: Any) -> Iterator[None]:
        """Send nothing in this block: the commands go to `recorder`. The channel belongs to one thread."""
        self._recorder = recorder
        try:
            yield
        finally:
            self._recorder = None

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        return {**super()._connparams(asynchronous), "command_packer": PACKER}  # type: ignore[misc]

    def _create_client(self, asynchronous: bool = False) -> Any:
        if self.closed:  # type: ignore[attr-defined]  # kombu's AttributeError is no lost connection
            raise ConnectionError("channel closed with its connection")
        if self._recorder is not None and not asynchronous:
            return self._recorder
        if asynchronous:  # for the event loop: kombu keeps this client itself
            return check_popped(super()._create_client(asynchronous=True))  # type: ignore[misc]
        kept = self._kept
        if kept is None or kept.connection_pool is not self.pool:  # type: ignore[attr-defined]
            kept = self._kept = check_popped(super()._create_client())  # type: ignore[misc]
        return kept


class OneClientChannel(ReadableChannel, _OneClientMixin, redis.Channel):  # type: ignore[misc]
    """kombu's channel, with one client."""


class OneClientSentinelChannel(ReadableChannel, _OneClientMixin, redis.SentinelChannel):  # type: ignore[misc]
    """kombu's channel to a Sentinel master, with one client."""

    connection_class = MasterConnection
    connection_class_ssl = MasterTlsConnection


class OneClientTransport(ReadableTransport, redis.Transport):  # type: ignore[misc]
    """kombu's Redis transport, with `OneClientChannel`."""

    Channel = OneClientChannel


class OneClientSentinelTransport(ReadableTransport, redis.SentinelTransport):  # type: ignore[misc]
    """kombu's transport to a Sentinel master, with `OneClientSentinelChannel`."""

    Channel = OneClientSentinelChannel


_OURS = {
    redis.Transport: OneClientTransport,
    redis.SentinelTransport: OneClientSentinelTransport,
    pyamqp.Transport: ReadableAmqpTransport,
    pyamqp.SSLTransport: ReadableAmqpTlsTransport,
}


class _TransportMixin:
    def get_transport_cls(self) -> Any:
        """As in Connection."""
        usual = super().get_transport_cls()  # type: ignore[misc]
        return _OURS.get(usual, usual)


#: Before kombu 5.5, the connections of a pool are plain ones.
_PooledConnection: Any = getattr(kombu_connection, "PooledConnection", None)


class _Pooled(_TransportMixin, _PooledConnection or Connection):  # type: ignore[misc]
    """A connection of `_Pool`."""


class _Pool(ConnectionPool):
    def new(self) -> Any:
        """As in ConnectionPool, whose class of connections is fixed."""
        if _PooledConnection is None:
            return super().new()
        return _Pooled(self, **dict(self.connection._info(resolve=False)))  # noqa: SLF001 - as kombu


class OneClientConnection(_TransportMixin, Connection):
    """kombu's connection, with the transports of this project for Redis and RabbitMQ, and kombu's for other brokers."""

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
