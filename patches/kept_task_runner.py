"""Runs a Celery task of a message, and then those that its thread keeps: see `kept_tasks.py`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from celery import Celery, bootsteps, signals
from celery.app import trace
from celery.concurrency.base import apply_target
from celery.concurrency.thread import ApplyResult  # type: ignore[attr-defined]
from celery.concurrency.thread import TaskPool as ThreadPool
from celery.utils.imports import symbol_by_name
from celery.worker import state, strategy
from celery.worker.request import Request, create_request_cls  # type: ignore[attr-defined]

from .kept_tasks import (
    BUNDLE,
    SLICE_S,
    KeptTask,
    LateTasks,
    Slice,
    read_bundle,
    send_bundles,
    take_first,
    this_thread,
)

log = logging.getLogger(__name__)


class _Delivery:
    """What a request reads from its message."""

    delivery_info: dict[str, Any] = {}  # noqa: RUF012 - never changed

    def __init__(self, properties: dict[str, Any]) -> None:
        self.properties = properties


class SliceRunner:
    """Runs the tasks of a worker with a pool of threads, and the successors that they keep."""

    def __init__(self, consumer: Any) -> None:
        self.is_open = True
        self.late_tasks = LateTasks()
        self._consumer = consumer
        self._app: Celery = consumer.app
        self._trace = (
            trace.fast_trace_task
            if getattr(self._app, "use_fast_trace_task", False)
            else trace.trace_task_ret
        )
        self._requests: dict[str, Any] = {}
        self._headers: dict[str, dict[str, Any]] = {}

    def may_keep(self, name: str) -> bool:
        """Return whether tasks of this name may be kept now."""
        stops: tuple[Any, ...] = (state.should_stop, state.should_terminate)
        return self.is_open and stops == (None, None) and self._consumer.task_buckets[name] is None

    def on_apply(
        self,
        target: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
        callback: Any = None,
        accept_callback: Any = None,
        **_: Any,
    ) -> ApplyResult:
        """As in the pool of threads."""
        call = (target, args, kwargs, callback, accept_callback)
        request = getattr(callback, "__self__", None)
        job = (self._run, request, call) if isinstance(request, Request) else (apply_target, *call)
        return ApplyResult(self._consumer.pool.executor.submit(*job))

    def _run(self, request: Any, call: tuple[Any, ...]) -> None:
        now = time.monotonic()
        current = Slice(self._app, self, now, now + SLICE_S)
        acknowledge = request._on_ack  # noqa: SLF001 - fixed when the request is created

        def acknowledge_at_end(*args: Any) -> None:
            if current.kept or current.later or current.next is not None:
                current.ack.append(args)
            else:
                acknowledge(*args)

        request._on_ack = acknowledge_at_end  # noqa: SLF001
        for further in read_bundle(request):
            current.keep(further)
        if current.kept:
            current.watch()  # the first task may be slow
        this_thread.current = current
        try:
            try:
                apply_target(*call)
            except Exception:
                # Celery's pool discards the error. A task that was kept before it still runs.
                log.exception("Celery task %s failed in its worker", request.id)
            while (task := (promised := current.take_next()) or take_first(current.kept)) is not None:
                if promised is not None or self.may_keep(task.name):
                    current.since = time.monotonic()
                    self._run_kept(task)
                else:
                    current.send_at_end(task)
        finally:
            this_thread.current = None
            current.is_over = True
            current.send_later()
            for args in current.ack:
                acknowledge(*args)

    def _run_kept(self, task: KeptTask) -> None:
        try:
            request = self._request(task)
        except Exception:
            log.exception("ignoring malformed kept Celery task %s", task.headers["id"])
            return
        try:
            self._report(request)
            state.task_reserved(request)
            apply_target(
                self._trace,
                (task.name, request.id, request.request_dict, request.body, None, None),
                callback=request.on_success,
                accept_callback=request.on_accepted,
            )
        except BaseException:
            log.exception("kept Celery task %s failed in its worker", request.id)
        finally:
            # Otherwise the worker would count a place as taken for good.
            state.task_ready(request)

    def _request(self, task: KeptTask) -> Any:
        """Return the request that Celery would create from the message."""
        consumer = self._consumer
        if task.name not in self._requests:
            usual = self._app.amqp.create_task_message(
                "", task.name, kwargs={}, argsrepr="", ignore_result=True
            )
            self._headers[task.name] = usual.headers
            registered_task = self._app.tasks[task.name]
            self._requests[task.name] = create_request_cls(
                symbol_by_name(registered_task.Request),
                registered_task,
                consumer.pool,
                consumer.hostname,
                consumer.event_dispatcher,
                app=self._app,
            )
        return self._requests[task.name](
            _Delivery({"correlation_id": task.headers["id"], "reply_to": ""}),
            app=self._app,
            hostname=consumer.hostname,
            eventer=consumer.event_dispatcher,
            task=self._app.tasks[task.name],
            connection_errors=consumer.connection_errors,
            body=((), task.kwargs, {}),
            headers={**self._headers[task.name], **task.headers},
            decoded=True,
        )

    def _report(self, request: Any) -> None:
        """Log and report the start, as Celery does for a message."""
        facts = {"name": request.name, "args": request.argsrepr, "kwargs": request.kwargsrepr, "eta": None}
        shown = {"id": request.id, **facts}
        if strategy.logger.isEnabledFor(logging.INFO):
            strategy.logger.info(trace.LOG_RECEIVED, shown, extra={"data": shown})
        signals.task_received.send(sender=self._consumer, request=request)
        fields = {**facts, "root_id": request.root_id, "parent_id": request.parent_id, "retries": 0}
        for event in ("task-sent", "task-received"):
            request.send_event(event, **fields, expires=None)


def _send_bundle(request: Any, **_: Any) -> None:
    """Send each further task of a message by itself."""
    send_bundles(request.app, [[task] for task in read_bundle(request)])


class KeptTasksStep(bootsteps.StartStopStep):
    """Bootstep that lets the threads of a worker keep tasks while it is connected to its broker."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, _consumer: Any, **_options: Any) -> None:
        self._runner: SliceRunner | None = None

    def start(self, consumer: Any) -> None:
        """As in StartStopStep."""
        pool: Any = consumer.pool
        if isinstance(pool, ThreadPool):
            self._runner = SliceRunner(consumer)
            pool.on_apply = self._runner.on_apply  # type: ignore[method-assign]
        else:
            # Also of messages that a rate limit delays, which `on_task_message` does not see.
            signals.task_received.connect(_send_bundle, sender=consumer, weak=False, dispatch_uid=BUNDLE)

    def stop(self, _consumer: Any) -> None:
        """As in StartStopStep."""
        if self._runner is not None:
            self._runner.is_open = False
