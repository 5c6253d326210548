"""Bootsteps of the start of a worker: its options, its runtime, and a queue of its own.

- Options of Celery's worker that would have no effect or do harm are refused. With its pool of threads, Celery 5.7.0
  ignores limits of processes and of time. Autoscaling fails for each message that it takes.
- In its queue a worker gets messages that other workers could not use. All workers with the same agents and formats
  share it, so that the next free one takes the message, and none is lost with one of them. Its name is fixed when the
  worker starts; later changes of the agents are announced (`state/presence.py`).
"""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, NoReturn

from celery import Celery, bootsteps
from kombu import Exchange, Queue

from ...config.celery import QUEUE_ORDER
from ...models.errors import SymposiaError
from ...patches.celery_consumer import BAD_CONFIGURATION
from ...patches.control_messages import PREFORK, RESIZABLE, pool_name
from ...patches.kombu_transport import OneClientMessages
from ...state.redis.formats import FORMATS
from ...tasks.runtime.lanes import LANES, lane_queues
from ...tasks.runtime.queues import queue_name
from ...tasks.runtime.runtime import runtime_of

log = logging.getLogger(__name__)


def end_worker(reason: object) -> NoReturn:
    """End a worker with a wrong configuration, with one line: Celery logs other exceptions with a traceback."""
    log.critical("%s", reason)
    raise SystemExit(BAD_CONFIGURATION)


class RuntimeStep(bootsteps.StartStopStep):
    """Bootstep that builds the runtime, to report a wrong agents file and problems of its agents at once.

    It closes nothing when it stops: in a warm shutdown, turns still run after this step and need their
    leases. Its threads are daemons and end with the process.
    """

    requires = ("celery.worker.components:Pool",)

    def start(self, worker: Any) -> None:
        """Build the runtime, or end the worker with one line if the configuration is wrong."""
        try:
            runtime = runtime_of(worker.app)
        except SymposiaError as error:
            end_worker(error)
        for problem in runtime.agents.registry.check():
            log.warning("problem in the agents file, the agent will fail: %s", problem)
        for line in find_short_limits(worker):
            log.warning("%s", line)
        gc.freeze()  # imported modules are no garbage: each full collection would scan them


#: Options that only processes of a pool have, by attribute of the worker, and what to use instead.
_OF_PROCESSES = {
    "time_limit": "the deadline of turns (turn_timeout_s)",
    "soft_time_limit": "the deadline of turns (turn_timeout_s)",
    "max_tasks_per_child": f"--pool {PREFORK}",
    "max_memory_per_child": f"--pool {PREFORK}",
}
#: Time limits of Celery that have an effect, by pool.
_TIME_LIMITS = {
    PREFORK: ("time_limit", "soft_time_limit"),
    "gevent": ("time_limit",),
    "eventlet": ("time_limit",),
}


def find_refusals(worker: Any, options: Mapping[str, Any], *, is_own: bool = True) -> Iterator[str]:
    """Yield a line for each option that this worker does not support.

    `is_own`: whether the app is ours. The configuration of another app may be made for workers with other pools, so only
    the command line counts; options of its beat have a meaning for its own tasks.
    """
    pool = pool_name(worker.pool_cls)
    if options.get("autoscale") and pool not in RESIZABLE:
        yield f"--autoscale does not work with the pool {pool}, whose size is fixed: use --concurrency"
    if pool != PREFORK:
        yield from _find_ineffective(pool, vars(worker) if is_own else options)
    elif not is_own and getattr(worker, "pool_start_method", None) == "spawn":
        yield "--pool-start-method spawn does not work with sessions, whose services its processes lack: use fork"
    if not is_own:
        return
    if not worker.app.amqp.queues.consume_from:
        yield "--exclude-queues leaves no queue to consume"
    for name, key in (("scheduler", "beat_scheduler"), ("schedule_filename", "beat_schedule_filename")):
        if getattr(worker, name) != worker.app.conf[key]:
            option = name.partition("_")[0]
            yield f"--{option} cannot be changed: the schedules of Symposia are in Redis"


def _find_ineffective(pool: str, given: Mapping[str, Any]) -> Iterator[str]:
    for name, instead in _OF_PROCESSES.items():
        if given.get(name):
            yield f"--{name.replace('_', '-')} has no effect with the pool {pool}: use {instead}"
    if given.get("pool_start_method") not in (None, "fork"):  # since Celery 5.7
        yield f"--pool-start-method has no effect with the pool {pool}"


def find_short_limits(worker: Any) -> Iterator[str]:
    """Yield a line for each time limit of Celery that ends turns before their deadline."""
    pool, deadline_s = pool_name(worker.pool_cls), worker.app.symposia_settings.turn_timeout_s
    for name in _TIME_LIMITS.get(pool, ()):
        limit_s = getattr(worker, name) if pool == PREFORK else worker.app.conf[f"task_{name}"]
        if limit_s and limit_s <= deadline_s:
            yield (
                f"{name} {limit_s:g} s ends turns before their deadline of {deadline_s:g} s: "
                "set turn_timeout_s to less than that"
            )


class OptionsStep(bootsteps.Step):
    """Bootstep that ends a worker with wrong options before it connects."""

    def __init__(self, worker: Any, **options: Any) -> None:
        is_own = isinstance(worker.app.amqp, OneClientMessages)
        for reason in find_refusals(worker, options, is_own=is_own):
            end_worker(reason)


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
        served = runtime.agents.served()
        parts: list[object] = [agents, FORMATS["session"]]
        if served.names:  # otherwise the name is that of earlier releases
            parts += [sorted(served.names), served.takes_common]
        digest = sha256(json.dumps(parts).encode()).hexdigest()[:12]
        name = f"{queue_name(app)}.agents.{digest}"
        _add_queue(app, name, expires=_EXPIRES_S)
        app.symposia_agents_queue = name  # type: ignore[attr-defined]
        app.symposia_lanes = _add_lanes(app)  # type: ignore[attr-defined]


def _add_queue(app: Celery, name: str, *, expires: int | None = None) -> None:
    common = app.amqp.queues[queue_name(app)]
    is_quorum = (common.queue_arguments or {}).get("x-queue-type") == "quorum"
    arguments = {"x-queue-type": "quorum"} if is_quorum else None
    queue = Queue(name, routing_key=name, expires=expires, queue_arguments=arguments)
    app.amqp.queues.select_add(queue)
    # Celery sets its own exchange, in which bindings of old names would stay.
    queue.exchange = Exchange("")


def _add_lanes(app: Celery) -> int:
    """Add the lanes to the queues of a worker that consumes the common queue; return how many others may use."""
    if app.conf.broker_transport_options.get("queue_order_strategy") != QUEUE_ORDER:
        return (
            0  # only kombu's Redis transport reports empty queues, which the search for lost messages needs
        )
    if queue_name(app) not in app.amqp.queues.consume_from:
        return LANES  # a worker of other queues
    for name in lane_queues(queue_name(app)):
        _add_queue(app, name)
    return LANES
