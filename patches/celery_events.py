"""Events about Celery tasks, sent in fewer messages: a worker's `task-sent` events together with its others,
and all of them every tenth of a second.

`task-sent`: Celery publishes each of these events by itself, from the thread that sends the Celery task: one
more round trip for every task, a tenth of the cost of a turn. A worker's other task events (received,
started, succeeded) are buffered in the consumer's dispatcher and sent together; with this module, `task-sent`
is, too. A process that is no worker, or a worker without an event loop, publishes as Celery does. Upstream:
the design of Celery 5.7.0, no issue. Remove `SentEventDispatcher` when
`test_celery_publishes_each_task_sent_by_itself` fails.

Interval: Celery publishes the buffered events at every tick of the worker's event loop. A busy loop ticks
several times in each turn, and publishing took a fifth of the worker's time. `GatheringConsumer` publishes
them at most every `GATHER_S` seconds. Upstream: the design of Celery 5.7.0, no issue. Remove it when
`test_celery_publishes_events_at_every_tick` fails.
"""

from __future__ import annotations

import os
import time
from typing import Any

from celery import bootsteps
from celery.events import EventDispatcher
from celery.worker.consumer import Consumer
from kombu import Producer

#: Seconds between two messages with buffered events. The first event after a pause is published at once.
GATHER_S = 0.1
#: Number of buffered events that are published before that.
GATHER_LIMIT = 500


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
        if (workers := self._attached()) is not None:
            workers.send(type, **fields)
        else:
            self._usual.publish(type, fields, producer, **how)

    def send_as_worker(self, worker: str, type: str, fields: dict[str, Any]) -> bool:  # noqa: A002
        """Send an event in the name of a worker with its other events; return False if this is not that worker."""
        workers = self._attached()
        if workers is None or workers.hostname != worker:
            return False
        workers.send(type, **fields)
        return True

    @property
    def is_attached(self) -> bool:
        """Whether the events are sent with those of the worker that this process is."""
        return self._attached() is not None

    def _attached(self) -> Any:
        # A process of a prefork pool holds a copy of the consumer's dispatcher, which is never flushed.
        return self._workers if self._process == os.getpid() else None


class GatheringConsumer(Consumer):
    """Celery's consumer, which publishes buffered events at most every `GATHER_S` seconds."""

    event_dispatcher: Any
    hub: Any
    _next_flush = 0.0
    #: The `_next_flush` for which a timer is set. A reconnect may clear the timer: the next interval sets one again.
    _scheduled_flush = 0.0

    def _flush_events(self) -> None:
        # Only the thread of the event loop calls this method, so that the attributes need no lock.
        left_s = self._next_flush - time.monotonic()
        if left_s <= 0:
            self._flush_now()
        elif self._scheduled_flush != self._next_flush:
            self._scheduled_flush = self._next_flush
            self.hub.call_later(left_s, self._flush_now)

    def _flush_now(self) -> None:
        self._next_flush = time.monotonic() + GATHER_S
        super()._flush_events()  # type: ignore[misc]


class SentEventsStep(bootsteps.StartStopStep):
    """Bootstep that attaches the consumer's dispatcher, which is replaced when the broker was lost."""

    requires = ("celery.worker.consumer.events:Events",)

    def start(self, consumer: Any) -> None:
        """As in StartStopStep."""
        if (sent_events := getattr(consumer.app.amqp, "sent_events", None)) is not None:  # not in another app
            consumer.event_dispatcher.buffer_limit = GATHER_LIMIT
            sent_events.attach_dispatcher(consumer.event_dispatcher)

    def stop(self, consumer: Any) -> None:
        """As in StartStopStep."""
        if (sent_events := getattr(consumer.app.amqp, "sent_events", None)) is not None:
            sent_events.detach_dispatcher()
