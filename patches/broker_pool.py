"""A pool of broker connections that belongs to one app and can be closed.

Celery takes its pools from a table of the process: apps that use the same broker share them, so closing one app's
connections would close those of all others.
"""

from __future__ import annotations

import weakref
from typing import Any

from kombu.pools import ProducerPool

from .kombu_transport import OneClientMessages


class OwnPoolMessages(OneClientMessages):
    """What Celery's `amqp` argument names: messages over connections of this app alone."""

    _producer_pool: Any

    @property
    def producer_pool(self) -> Any:
        """As in AMQP."""
        if self._producer_pool is None:
            connection, limit = self.app.connection_for_write(), self.app.conf.broker_pool_limit
            self._producer_pool = ProducerPool(connection.Pool(limit=limit), limit=limit)
            # An app that is dropped closes its connections, too: those of RabbitMQ do not close themselves.
            weakref.finalize(self.app, _close, self._producer_pool).atexit = False
        return self._producer_pool

    def close(self) -> None:
        """Close the connections of the pool."""
        if (pool := self._producer_pool) is not None:
            _close(pool)


def _close(pool: Any) -> None:
    pool.connections.force_close_all()
    pool.force_close_all()
