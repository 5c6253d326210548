"""Bootstep that refuses options of Celery's worker that would have no effect or do harm.

With its pool of threads, Celery 5.7.0 ignores limits of processes and of time. Autoscaling fails for each message that
it takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from celery import bootsteps

from ...patches.control_messages import PREFORK, RESIZABLE, pool_name
from .background_loops import end_worker

#: Options that only processes of a pool have, by attribute of the worker, and what to use instead.
_OF_PROCESSES = {
    "time_limit": "the deadline of turns (turn_timeout_s)",
    "soft_time_limit": "the deadline of turns (turn_timeout_s)",
    "max_tasks_per_child": f"--pool {PREFORK}",
    "max_memory_per_child": f"--pool {PREFORK}",
}


def find_refusals(worker: Any, options: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each option that this worker does not support."""
    pool = pool_name(worker.pool_cls)
    if options.get("autoscale") and pool not in RESIZABLE:
        yield f"--autoscale does not work with the pool {pool}, whose size is fixed: use --concurrency"
    if pool != PREFORK:
        for name, instead in _OF_PROCESSES.items():
            if getattr(worker, name):
                yield f"--{name.replace('_', '-')} has no effect with the pool {pool}: use {instead}"
        if worker.pool_start_method != "fork":
            yield f"--pool-start-method has no effect with the pool {pool}"
    if not worker.app.amqp.queues.consume_from:
        yield "--exclude-queues leaves no queue to consume"
    for name, key in (("scheduler", "beat_scheduler"), ("schedule_filename", "beat_schedule_filename")):
        if getattr(worker, name) != worker.app.conf[key]:
            option = name.partition("_")[0]
            yield f"--{option} cannot be changed: the schedules of Symposia are in Redis"


class OptionsStep(bootsteps.Step):
    """Bootstep that ends a worker with wrong options before it connects."""

    def __init__(self, worker: Any, **options: Any) -> None:
        for reason in find_refusals(worker, options):
            end_worker(reason)
