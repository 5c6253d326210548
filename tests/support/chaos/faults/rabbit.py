"""What happens to a RabbitMQ that carries the messages: it is restarted, closes its connections, or loses the queue."""

from __future__ import annotations

import time
from random import Random

from chaos.arena import Arena, Broker
from chaos.machinery.courier import SENT


def broker_restarted(arena: Arena, random: Random) -> None:
    """`stop_app`, and `start_app` a few seconds later: every connection is closed, the messages stay."""
    node = _broker(arena).node
    with arena.at_server:
        time.sleep(random.uniform(0, 0.5))
        node.stop_app()
        time.sleep(random.uniform(1, 4))
        node.start_app()


def connections_closed(arena: Arena, random: Random) -> None:
    """The broker closes every connection, two or three times in a row."""
    for _ in range(random.randint(2, 3)):
        _broker(arena).node.close_connections()
        time.sleep(random.uniform(0.3, 1.0))


def queue_deleted(arena: Arena, random: Random) -> None:
    """Delete the queue with its messages; its consumers are notified."""
    with arena.at_server:
        time.sleep(random.uniform(0, 0.5))
        broker = _broker(arena)
        broker.node.delete_queue(broker.url, SENT)


def _broker(arena: Arena) -> Broker:
    assert arena.broker is not None, "this arena has no RabbitMQ"
    return arena.broker
