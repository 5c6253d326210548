"""Flower's page of the broker with the numbers of waiting and taken messages, and of consumers.

Flower counts the messages of a Redis broker only as a whole, cannot use the TLS options of a URL, and asks
RabbitMQ's management plugin, which may not be installed. Here Redis is read over the project's own connection,
and RabbitMQ is asked over AMQP, unless Flower has the option `broker_api`. Redis does not know which messages
are taken: workers announce their number every five seconds.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypedDict, cast

from amqp.exceptions import AMQPError
from flower.api.tasks import GetQueueLengths
from flower.views.broker import BrokerView
from redis.asyncio import Redis
from tornado.web import authenticated

from ...client.building.broker import broker_url_in_use
from ...client.building.connection import redis_url_in_use
from ...config.celery import QUEUE, to_celery_url
from ...config.field_types import is_redis
from ...config.settings import load_settings
from ...state.presence import SILENT_MS, parse_entries
from ...state.redis.connect import aconnect
from ...state.redis.keys import WORKERS
from ...state.redis.readers import time_ms
from ...tasks.runtime.lanes import lane_queues

#: Lists of one queue in kombu's Redis transport: one for each priority.
_SUFFIXES = ("", *(f"\x06\x16{priority}" for priority in (3, 6, 9)))


class QueueLength(TypedDict):
    """Numbers of one queue; None: unknown."""

    name: str
    messages: int | None
    messages_ready: int | None
    messages_unacknowledged: int | None
    consumers: int


class Queues(Protocol):
    """A broker, as Flower's pages use it."""

    async def queues(self, names: Iterable[str]) -> list[QueueLength]:
        """Return the numbers of these queues."""
        ...


class RedisQueues:
    """Queues of kombu's Redis transport.

    Args:
        url: The broker's URL.
        state_url: URL of the Redis in which workers announce themselves.
        consumers: Number of workers by the name of the queue that they consume.
        common: Name of the queue of which workers announce taken messages.
    """

    def __init__(self, url: str, state_url: str, consumers: Mapping[str, int], *, common: str) -> None:
        self._common = common
        self._url = url
        self._state_url = state_url
        self._consumers = consumers

    async def queues(self, names: Iterable[str]) -> list[QueueLength]:
        """Return the numbers of these queues. Raises RedisError."""
        wanted = list(names)
        async with aconnect(self._url) as client:
            pipeline = client.pipeline(transaction=False)
            for name in wanted:
                for suffix in _SUFFIXES:
                    _ = pipeline.llen(name + suffix)
            lengths = await pipeline.execute()
        async with aconnect(self._state_url) as client:
            taken = await count_taken(client)
        queue_lengths = []
        for index, name in enumerate(wanted):
            ready = sum(lengths[index * len(_SUFFIXES) : (index + 1) * len(_SUFFIXES)])
            of_queue = taken if name == self._common else 0
            queue_lengths.append(
                QueueLength(
                    name=name,
                    messages=ready + of_queue,
                    messages_ready=ready,
                    messages_unacknowledged=of_queue,
                    consumers=self._consumers.get(name, 0),
                )
            )
        return queue_lengths


async def count_taken(client: Redis) -> int:
    """Return the number of messages that running workers have taken, as they announced it."""
    entries = await cast("Any", client.hgetall(WORKERS))
    now_ms = time_ms(await cast("Any", client.time()))
    return sum(worker.taken or 0 for worker in parse_entries(entries, now_ms) if worker.age_ms <= SILENT_MS)


class AmqpQueues:
    """Queues of RabbitMQ, without its management plugin.

    Args:
        app: The Celery app.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    async def queues(self, names: Iterable[str]) -> list[QueueLength]:
        """Return the numbers of these queues; those that do not exist are left out."""
        return await asyncio.to_thread(self._declared, list(names))

    def _declared(self, names: list[str]) -> list[QueueLength]:
        queue_lengths = []
        with self._app.connection_for_read() as connection:
            for name in names:
                try:
                    # Passive: nothing is created. RabbitMQ does not tell how many are unacknowledged.
                    answer = connection.channel().queue_declare(queue=name, passive=True)
                except AMQPError:
                    continue
                length = QueueLength(
                    name=name,
                    messages=None,
                    messages_ready=answer.message_count,
                    messages_unacknowledged=None,
                    consumers=answer.consumer_count,
                )
                queue_lengths.append(length)
        return queue_lengths


class SummedLanes:
    """Queues in which the common queue includes its lanes.

    Args:
        inner: The queues, lane by lane.
        common: Name of the common queue.
    """

    def __init__(self, inner: Queues, *, common: str = QUEUE) -> None:
        self._inner = inner
        self._common = common

    async def queues(self, names: Iterable[str]) -> list[QueueLength]:
        """Return the numbers of these queues, without lanes. Raises what the inner ones raise."""
        lanes = lane_queues(self._common)
        wanted = [name for name in dict.fromkeys(names) if name not in lanes]
        lengths = await self._inner.queues([*wanted, *(lanes if self._common in wanted else ())])
        of_lanes = [length for length in lengths if length["name"] in lanes]
        listed = [length for length in lengths if length["name"] not in lanes]
        for length in listed:
            if length["name"] == self._common:
                if length["messages"] is not None:
                    length["messages"] += sum(lane["messages"] or 0 for lane in of_lanes)
                if length["messages_ready"] is not None:
                    length["messages_ready"] += sum(lane["messages_ready"] or 0 for lane in of_lanes)
        return listed


class _OwnBroker:
    """Mixin of Flower's handlers that read the queues of the broker."""

    capp: Any
    application: Any

    def get_broker(self) -> Queues:
        """Return the broker of this installation; that of another Celery app is read by Flower."""
        settings = load_settings()
        url = broker_url_in_use(settings)
        if self.capp.conf.broker_url == to_celery_url(url):
            if is_redis(url):
                own = RedisQueues(url, redis_url_in_use(settings), self._consumers(), common=settings.queue)
                return SummedLanes(own, common=settings.queue)
            if self.application.transport == "amqp" and not self.application.options.broker_api:
                return SummedLanes(AmqpQueues(self.capp), common=settings.queue)
        stock: Queues = super().get_broker()  # type: ignore[misc] # of Flower's handler
        return stock

    async def inspect_new_workers(self) -> None:
        """Ask the workers for their queues if one of them started after Flower, which asks only when it starts."""
        inspected = self.application.workers
        if any("active_queues" not in inspected.get(name, ()) for name in self._online()):
            await self.application.update_workers()

    def _online(self) -> list[str]:
        return [name for name, worker in list(self.application.events.state.workers.items()) if worker.alive]

    def _consumers(self) -> Counter[str]:
        """Count the workers that run by the queues that they consume; Flower keeps those that have ended, too."""
        inspected = (self.application.workers.get(name) or {} for name in self._online())
        return Counter(queue["name"] for worker in inspected for queue in worker.get("active_queues") or ())


class QueuesPage(_OwnBroker, BrokerView):  # type: ignore[misc] # Flower has no types
    """The page of the broker."""

    @authenticated
    async def get(self) -> None:
        """As in Flower."""
        await self.inspect_new_workers()
        await super().get()
        self.application.update_workers()  # for the next request: an operator may have added a queue to a worker


class QueuesData(_OwnBroker, GetQueueLengths):  # type: ignore[misc] # Flower has no types
    """The queues as JSON."""

    @authenticated
    async def get(self) -> None:
        """As in Flower."""
        await self.inspect_new_workers()
        await super().get()
