"""Bootstep of the queue in which a worker gets messages that other workers could not use.

All workers with the same agents and formats share it, so that the next free one takes the message, and none is lost with
one of them. Its name is fixed when the worker starts; later changes of the agents are announced (`state/presence.py`).
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from celery import Celery, bootsteps
from kombu import Exchange, Queue

from ...state.redis.formats import FORMATS
from ...tasks.runtime.runtime import runtime_of
from .background_loops import RuntimeStep

#: Seconds without a worker after which RabbitMQ deletes the queue. The sweep sends the turns in it again.
_EXPIRES_S = 3_600


class AgentsQueueStep(bootsteps.StartStopStep):
    """Bootstep that adds the queue to those that the worker consumes, also with Celery's option `-Q`."""

    requires = (RuntimeStep,)

    def start(self, worker: Any) -> None:
        """Add the queue before the consumer starts."""
        app: Celery = worker.app
        runtime = runtime_of(app)
        agents = [name for name in runtime.agents.registry.names() if runtime.agents.registry.can_run(name)]
        digest = sha256(json.dumps([agents, FORMATS["session"]]).encode()).hexdigest()[:12]
        name = f"{app.conf.task_default_queue}.agents.{digest}"
        is_quorum = app.conf.task_default_queue_type == "quorum"
        arguments = {"x-queue-type": "quorum"} if is_quorum else None
        queue = Queue(name, routing_key=name, expires=_EXPIRES_S, queue_arguments=arguments)
        app.amqp.queues.select_add(queue)
        # Celery sets its own exchange, in which bindings of old names would stay.
        queue.exchange = Exchange("")
        app.conf.symposia_agents_queue = name
