"""A consumer that no message can stop: what cannot be read as a task is put away, and the next one is taken.

Celery 5.7.0 expects some malformed messages and refuses them; others (a body of two parts instead of three, or of
none) raise in the middle of its event loop, end the worker, and go back to the queue for the next worker. Whoever
may write to the queue could stop all workers for good with one message.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from celery.worker.consumer import Consumer

log = logging.getLogger(__name__)


class UnstoppableConsumer(Consumer):
    """Celery's consumer, with every message that it cannot read rejected."""

    connection_errors: tuple[type[Exception], ...]
    channel_errors: tuple[type[Exception], ...]

    def create_task_handler(self, *options: Any) -> Callable[..., Any]:
        """As in Consumer."""
        receive = super().create_task_handler(*options)

        def received(message: Any) -> object:
            try:
                return receive(message)
            except Exception as error:
                # Kombu counts KeyError among the errors of a lost connection; here it is a part that is missing.
                lost = isinstance(error, (*self.connection_errors, *self.channel_errors))
                if lost and not isinstance(error, KeyError):
                    raise
                log.exception("a message that is no task is put away: %s", type(error).__name__)
                message.reject_log_error(log, self.connection_errors)
                return None

        return received
