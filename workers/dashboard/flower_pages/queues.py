"""Flower's page of the broker with the numbers of waiting and unacknowledged messages, and of consumers.

Flower counts the messages of a Redis broker only as a whole, cannot use the TLS options of a URL, and asks
RabbitMQ's management plugin, which may not be installed. Here Redis is read over the project's own connection,
and RabbitMQ is asked over AMQP, unless Flower has the option `broker_api`.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypedDict

from amqp.exceptions import AMQPError
from flower.api.tasks import GetQueueLengths
from flower.views.broker import BrokerView

from ....config.celery import to_celery_url
from ....config.settings import load_settings
from ....config.urls import is_redis
from ....factories.connection import broker_url_in_use
from ....state.redis.connect import aconnect

#: Lists of one queue in kombu's Redis transport: one for each priority.
_SUFFIXES = ("", *(f"\x06\x16{priority}" for priority in (3, 6, 9)))
#: Hash of unacknowledged messages in kombu's Redis transport.
_UNACKED = "unacked"
#: Maximum number of unacknowledged messages that are read to tell their queues.
_MOST_UNACKED = 1_000


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
        consumers: Number of workers by the name of the queue that they consume.
    """

    def __init__(self, url: str, consumers: Mapping[str, int]) -> None:
        self._url = url
        self._consumers = consumers

    async def queues(self, names: Iterable[str]) -> list[QueueLength]:
        """Return the numbers of these queues. Raises RedisError."""
        wanted = list(names)
        async with aconnect(self._url) as client:
            pipeline = client.pipeline(transaction=False)
            for name in wanted:
                for suffix in _SUFFIXES:
                    _ = pipeline.llen(name + suffix)
            _ = pipeline.hlen(_UNACKED)
            *lengths, taken = await pipeline.execute()
            unacked = None
            if taken <= _MOST_UNACKED:
                unacked = count_unacked(await client.hvals(_UNACKED))
        found = []
        for place, name in enumerate(wanted):
            ready = sum(lengths[place * len(_SUFFIXES) : (place + 1) * len(_SUFFIXES)])
            of_queue = None if unacked is None else unacked[name]
            found.append(
                QueueLength(
                    name=name,
                    messages=ready + (of_queue or 0),
                    messages_ready=ready,
                    messages_unacknowledged=of_queue,
                    consumers=self._consumers.get(name, 0),
                )
            )
        return found


def count_unacked(stored: Iterable[str | bytes]) -> Counter[str]:
    """Return the number of unacknowledged messages by queue; each is JSON: message, exchange and routing key."""
    counts: Counter[str] = Counter()
    for text in stored:
        try:
            _, _, routing_key = json.loads(text)
        except ValueError:
            continue
        counts[str(routing_key)] += 1
    return counts


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
        found = []
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
                found.append(length)
        return found


class _OwnBroker:
    """Mixin of Flower's handlers that read the queues of the broker."""

    capp: Any
    application: Any

    def get_broker(self) -> Queues:
        """Return the broker of this installation; that of another Celery app is read by Flower."""
        url = broker_url_in_use(load_settings())
        if self.capp.conf.broker_url == to_celery_url(url):
            if is_redis(url):
                return RedisQueues(url, self._consumers())
            if self.application.transport == "amqp" and not self.application.options.broker_api:
                return AmqpQueues(self.capp)
        stock: Queues = super().get_broker()  # type: ignore[misc] # of Flower's handler
        return stock

    def _consumers(self) -> Counter[str]:
        workers = self.application.workers.values()
        return Counter(queue["name"] for it in workers for queue in it.get("active_queues") or ())


class QueuesPage(_OwnBroker, BrokerView):  # type: ignore[misc] # Flower has no types
    """The page of the broker."""


class QueuesData(_OwnBroker, GetQueueLengths):  # type: ignore[misc] # Flower has no types
    """The queues as JSON."""
