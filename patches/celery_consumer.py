"""A Celery consumer that survives the loss of its broker.

A worker should wait for a Redis that restarts. With Celery 5.7.0 and kombu 5.7.0 it exits if a Celery task was running,
for two reasons:

1. `Consumer.on_connection_error_after_connected` closes the lost connection twice, by `collect` and by `close`. The
   first time, the channel's pending BRPOP fails before the channel counts as closed, and the connection drops its
   transport. The second time, the channel restores unacknowledged messages over a connection without a transport:
   `AttributeError: 'NoneType' object has no attribute 'hostname'`, which Celery does not handle.
2. A Celery task acknowledges its message when it ends, over the channel that delivered the message. That channel is
   closed: `AttributeError: 'NoneType' object has no attribute 'client'`, raised inside the event loop.

So nothing is restored or acknowledged over a lost connection. Neither is needed: the running turns continue in this
process, and their messages are delivered once more after the visibility timeout, when `begin` answers that they are
done.

Upstream: no open issue found; celery/kombu#582 (closed) has the first traceback. Remove this module when
`test_celerys_own_consumer_still_ends_the_worker` (`tests/sessions/test_lost_broker.py`) fails.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from kombu import Connection

from .cold_shutdown import ColdShutdownConsumer
from .foreign_messages import RejectingConsumer

log = logging.getLogger(__name__)

#: Seconds between two tries to reach a broker that went away: first, more each time, at most. Kombu's own are
#: 2, 2 and 30, which would add up to half a minute to an outage of a minute.
_RETRY_INTERVALS = {"interval_start": 1, "interval_step": 1, "interval_max": 5}


class ReconnectingConsumer(ColdShutdownConsumer, RejectingConsumer):
    """What Celery's setting `worker_consumer` names: the consumer of every worker here."""

    def ensure_connected(self, conn: Connection) -> Connection:
        """As in Consumer, with shorter pauses."""
        patient = partial(conn.ensure_connection, **_RETRY_INTERVALS)  # type: ignore[arg-type]
        conn.ensure_connection = patient  # type: ignore[method-assign]
        return super().ensure_connected(conn)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """As in Consumer, without giving messages back over the lost connection."""
        # Virtual transports, Redis among them, list their channels; for others the broker does all this.
        for channel in getattr(self.connection.transport, "channels", ()) if self.connection else ():
            channel.do_restore = False
        super().on_connection_error_after_connected(exc)

    def call_soon_ack(self, settle: Callable[..., None], *args: Any, **options: Any) -> Any:
        """As in Consumer. `settle` acknowledges or rejects a message: a bound method of it."""
        return super().call_soon_ack(partial(_acknowledge, settle), *args, **options)  # type: ignore[misc]


def _acknowledge(settle: Callable[..., None], *args: Any, **options: Any) -> None:
    """Looks at the channel at the last moment: the connection may get lost while this waits for the event loop."""
    message = settle.__self__  # type: ignore[attr-defined]
    if _is_channel_lost(message.channel):
        log.info(
            "message %s was received over a lost connection; the broker will redeliver it",
            message.delivery_tag,
        )
        return
    settle(*args, **options)


def _is_channel_lost(channel: Any) -> bool:
    """Whether the channel was closed: virtual transports say so, py-amqp takes its connection away."""
    return getattr(channel, "closed", False) or channel.connection is None
