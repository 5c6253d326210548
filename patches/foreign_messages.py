"""A consumer that no message can stop: it rejects what it cannot read as a Celery task, and continues.

Celery 5.7.0 refuses some malformed messages. Others (a body of two parts instead of three, or of none) raise inside its
event loop, end the worker, and return to the queue for the next worker. An envelope that is not JSON ends the worker
while kombu 5.7.0 decodes it, and an envelope that lacks a part counts as a lost connection. So one message could stop
all workers.

Upstream: celery/celery#7975 and celery/celery#4308. Remove this module when
`test_celery_worker_ends_on_a_malformed_message` fails.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from queue import Empty
from typing import Any

from celery.worker.consumer import Consumer

from .message_sizes import RefusedMessage, check_popped, check_size, refuse_compressed

log = logging.getLogger(__name__)


class RejectingConsumer(Consumer):
    """Celery's consumer, with every message that it cannot read rejected."""

    connection_errors: tuple[type[Exception], ...]
    channel_errors: tuple[type[Exception], ...]
    task_consumer: Any

    def create_task_handler(self, *options: Any) -> Callable[..., Any]:
        """As in Consumer. Every connection has its own, so that its channel is seen to here as well."""
        refuse_compressed()
        self._guard_envelopes()
        receive = super().create_task_handler(*options)

        def received(message: Any) -> object:
            try:
                check_size(message.body)
                return receive(message)
            except Exception as error:
                if self._is_broker_lost(error):
                    raise
                log.exception("rejecting message that is not a task: %s", type(error).__name__)
                message.reject_log_error(log, self.connection_errors)
                return None

        return received

    def _guard_envelopes(self) -> None:
        """Has the Redis transport drop what it popped and cannot unpack; other brokers check envelopes themselves."""
        handlers = getattr(self.task_consumer.channel, "handlers", {})
        pop = handlers.get("BRPOP")
        if pop is None:
            return
        check_popped(self.task_consumer.channel.client)

        def popped(**options: Any) -> object:
            try:
                return pop(**options)
            except Empty:
                raise
            except Exception as error:
                if self._is_broker_lost(error):
                    raise
                # Without its text, which may be long and belongs to no one: it is not in the queue any more.
                reason = error if isinstance(error, RefusedMessage) else type(error).__name__
                log.error("dropping malformed broker message: %s", reason)
                return True

        handlers["BRPOP"] = popped

    def _is_broker_lost(self, error: Exception) -> bool:
        """Return whether the broker is unavailable. Kombu counts KeyError to that; here it is a missing part."""
        lost = isinstance(error, (*self.connection_errors, *self.channel_errors))
        return lost and not isinstance(error, KeyError)
