"""`task-sent` events of a worker, sent together with its other events in one message.

Celery publishes each `task-sent` event by itself, from the thread that sends the Celery task: one more round
trip for every task, a tenth of the cost of a turn. A worker's other task events (received, started,
succeeded) are buffered in the consumer's dispatcher and sent together; with this module, `task-sent` is, too.
A process that is no worker, or a worker without an event loop, publishes as Celery does.

Upstream: the design of Celery 5.7.0, no issue. Remove this module when
`test_celery_publishes_each_task_sent_by_itself` fails.
"""

from __future__ import annotations

import os
from typing import Any

from celery import bootsteps
from celery.events import EventDispatcher
from kombu import Producer


class SentEventDispatcher:
    """Replacement of `usual`, the dispatcher to which Celery reports sent tasks."""

    def __init__(self, usual: EventDispatcher) -> None:
        self._usual = usual
        self._workers: Any = None
        self._process = 0

    def attach_dispatcher(self, dispatcher: Any) -> None:
        """Send the events with this dispatcher from now on, if it buffers task events."""
        gathers = dispatcher.enabled and not dispatcher.groups and "task" in dispatcher.buffer_group
        self._workers, self._process = dispatcher if gathers else None, os.getpid()

    def detach_dispatcher(self) -> None:
        """Publish the events as Celery does from now on."""
        self._workers = None

    def publish(self, type: str, fields: dict[str, Any], producer: Producer, **how: Any) -> None:  # noqa: A002
        """As in EventDispatcher."""
        workers = self._workers
        # A process of a prefork pool holds a copy of the consumer's dispatcher, which is never flushed.
        if workers is not None and self._process == os.getpid():
            workers.send(type, **fields)
        else:
            self._usual.publish(type, fields, producer, **how)


class SentEventsStep(bootsteps.StartStopStep):
    """Bootstep that attaches the consumer's dispatcher, which is replaced when the broker was lost."""

    requires = ("celery.worker.consumer.events:Events",)

    def start(self, consumer: Any) -> None:
        """As in StartStopStep."""
        consumer.app.amqp.sent_events.attach_dispatcher(consumer.event_dispatcher)

    def stop(self, consumer: Any) -> None:
        """As in StartStopStep."""
        consumer.app.amqp.sent_events.detach_dispatcher()
