"""What a worker tells of the tasks that it sends: with its other events of tasks, many in one message.

Celery publishes each `task-sent` by itself, from the thread that sends the task and while all others wait: a round trip
more for every task, a tenth of what a turn costs. A worker's own events of tasks (received, started, succeeded) wait a
moment in the consumer's dispatcher and travel together; so do these. Whatever is no worker, or none with an event loop,
tells them as Celery does.
"""

from __future__ import annotations

import os
from typing import Any

from celery import bootsteps
from celery.events import EventDispatcher
from kombu import Producer


class SentEvents:
    """In the place of the dispatcher that Celery tells of sent tasks with, which is `usual`."""

    def __init__(self, usual: EventDispatcher) -> None:
        self._usual = usual
        self._workers: Any = None
        self._process = 0

    def join(self, dispatcher: Any) -> None:
        """From now on with the events of this dispatcher, if it gathers those of tasks."""
        gathers = dispatcher.enabled and not dispatcher.groups and "task" in dispatcher.buffer_group
        self._workers, self._process = dispatcher if gathers else None, os.getpid()

    def leave(self) -> None:
        """From now on as Celery does."""
        self._workers = None

    def publish(self, type: str, fields: dict[str, Any], producer: Producer, **how: Any) -> None:  # noqa: A002
        """As in EventDispatcher."""
        workers = self._workers
        # A process of a prefork pool holds a copy of the consumer's dispatcher, and nobody empties it.
        if workers is not None and self._process == os.getpid():
            workers.send(type, **fields)
        else:
            self._usual.publish(type, fields, producer, **how)


class SentEventsStep(bootsteps.StartStopStep):
    """Joins the consumer's dispatcher, which is another after every loss of the broker."""

    requires = ("celery.worker.consumer.events:Events",)

    def start(self, consumer: Any) -> None:
        """As in StartStopStep."""
        consumer.app.amqp.sent_events.join(consumer.event_dispatcher)

    def stop(self, consumer: Any) -> None:
        """As in StartStopStep."""
        consumer.app.amqp.sent_events.leave()
