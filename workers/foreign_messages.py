"""A consumer that no message can stop: what cannot be read as a task is put away, and the next one is taken.

Celery 5.7.0 expects some malformed messages and refuses them; others (a body of two parts instead of three, or of
none) raise in the middle of its event loop, end the worker, and go back to the queue for the next worker. An envelope
that is no JSON ends the worker while kombu 5.7.0 unpacks it, and one that lacks a part is taken for a lost connection.
Whoever may write to the queue could stop all workers for good with one message.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from queue import Empty
from typing import Any

from celery.worker.consumer import Consumer

from .message_sizes import RefusedMessage, check_popped, check_size, refuse_compressed

log = logging.getLogger(__name__)


class UnstoppableConsumer(Consumer):
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
                if self._is_lost(error):
                    raise
                log.exception("a message that is no task is put away: %s", type(error).__name__)
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
                if self._is_lost(error):
                    raise
                # Without its text, which may be long and is nobody's: it is not in the queue any more.
                reason = error if isinstance(error, RefusedMessage) else type(error).__name__
                log.error("a message that is no envelope is dropped: %s", reason)
                return True

        handlers["BRPOP"] = popped

    def _is_lost(self, error: Exception) -> bool:
        """Whether the broker is away. Kombu counts KeyError to that; here it is a part that is missing."""
        lost = isinstance(error, (*self.connection_errors, *self.channel_errors))
        return lost and not isinstance(error, KeyError)
