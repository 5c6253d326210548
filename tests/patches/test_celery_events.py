"""Events about Celery tasks: published together, by Celery at every tick and by the patch at intervals."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from celery import Celery
from celery.worker.consumer import Consumer
from kombu import Exchange, Queue
from kombu.asynchronous import Hub
from vine import promise

from live import until
from symposia.patches.celery_events import GatheringConsumer


class Loop:
    """A consumer's event loop with a real dispatcher of events, turned by hand."""

    def __init__(self, kind: type[Consumer], stack: ExitStack) -> None:
        app = Celery("events", broker="memory://", set_as_current=False)
        connection = stack.enter_context(app.connection_for_write())
        events = Queue("gathered-events", Exchange("celeryev", type="topic"), routing_key="#")
        self._received = stack.enter_context(connection.SimpleQueue(events))
        self._received.clear()
        consumer: Any = kind.__new__(kind)
        consumer.hub = self._hub = Hub()
        stack.callback(self._hub.close)
        consumer._flush_events_promise = promise(consumer._flush_events)
        consumer.event_dispatcher = self._dispatcher = app.events.Dispatcher(
            connection, buffer_group=["task"], on_send_buffered=consumer.on_send_event_buffered
        )
        # A loop with work to do does not wait at its ticks: something can always be read.
        readable, full = os.pipe()
        os.write(full, b".")
        stack.callback(lambda: (os.close(readable), os.close(full)))
        self._hub.add_reader(readable, lambda *_: None)
        self._ticks = self._hub.create_loop()
        self.messages: list[int] = []

    def tick(self, events: int = 0) -> None:
        """Turn the loop once, after as many events."""
        for number in range(events):
            self._dispatcher.send("task-started", uuid=str(number))
        next(self._ticks)
        while self._received.qsize():
            self.messages.append(len(self._received.get(block=False).payload))


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_celery_publishes_events_at_every_tick(stack):
    loop = Loop(Consumer, stack)
    for _ in range(3):
        loop.tick(events=2)
    assert loop.messages == [2, 2, 2]


def test_events_of_many_ticks_are_one_message(stack):
    loop = Loop(GatheringConsumer, stack)
    loop.tick(events=2)
    assert loop.messages == [2], "the first events after a pause are published at once"
    for _ in range(20):
        loop.tick(events=2)

    def all_arrived() -> bool:
        loop.tick()
        return sum(loop.messages) == 42

    until(all_arrived, what="the last events are published without another one")
    assert len(loop.messages) < 20
