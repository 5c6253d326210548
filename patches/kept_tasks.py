"""The next Celery task of a thread without a message: a fast turn and its successor run in the same thread.

With Celery 5.7.0 each turn of a sequence is a message, although the worker that writes a turn could run the
next one at once: publish, pop, decode, a hand-over from the event loop to a thread and back take more time
than the turn. Here a task may leave its successors in its thread (`keep_task`). Each is a Celery task like any
other, with an id, a request, events, logs and signals, and runs as soon as those before it have ended.

Bounds:

- A thread keeps at most `SLICE_TASKS` successors, for `SLICE_S` seconds after it took a message. Later ones are
  sent, so that the sessions of a busy worker take turns, and slow turns go to any free worker. With more
  sessions than threads, a message waits for at most `SLICE_S` for each session before it, divided by the threads.
- Later ones that may run side by side and are expected to be short are sent together in one message, a bundle: it is
  the message of the first, with the others in the header `BUNDLE`. The thread that takes it keeps the others. A pool
  of another kind sends each as a message.
- Tasks that may run side by side are kept one after the other only if all of them are expected to be shorter than a
  message (`KeptTask.is_short`). Those that have not begun at the end of these seconds, because one was slow after
  all, are sent by another thread (`_LateTasks`).
- The message that the thread took is acknowledged after the last of them: the worker takes no more messages
  than it has threads.
- Nothing is kept once the worker stops or has lost its broker, in other pools than that of threads, and for
  a task with a rate limit.

A kept task sends the signals of a worker, not those of publishing. If its process dies, it is lost, as a message
without acknowledgement is. Sessions do not depend on it.
Upstream: the design of Celery, no issue.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from celery import Celery, bootsteps, signals
from celery.app import trace
from celery.concurrency.base import apply_target
from celery.concurrency.thread import ApplyResult  # type: ignore[attr-defined]
from celery.concurrency.thread import TaskPool as ThreadPool
from celery.utils.imports import symbol_by_name
from celery.worker import state, strategy
from celery.worker.request import Request, create_request_cls  # type: ignore[attr-defined]

log = logging.getLogger(__name__)

#: Seconds for which a thread keeps successors, and how many.
SLICE_S = 0.2
SLICE_TASKS = 16
#: Least seconds between two checks for late tasks.
_PAUSE_S = 0.02
#: Header of a bundle: the further tasks, each with its arguments and headers.
BUNDLE: Final = "symposia_bundle"
_SENDER_ATTRIBUTE = "symposia_send_kept_tasks"


@dataclass(frozen=True, slots=True)
class KeptTask:
    """A Celery task to run.

    Attributes:
        name: Name of the task.
        kwargs: Its keyword arguments.
        headers: Headers that its message would have, besides those that all its messages have.
        is_short: Whether it probably takes less time than a message.
    """

    name: str
    kwargs: dict[str, Any]
    headers: dict[str, Any]
    is_short: bool = False


def install_kept_task_sender(app: Celery, send: Callable[[Sequence[KeptTask]], None]) -> None:
    """Set the function with which the workers of an app send kept tasks of one name, together in one message."""
    setattr(app, _SENDER_ATTRIBUTE, send)


def bundle_headers(others: Sequence[KeptTask]) -> dict[str, Any]:
    """Return the headers with which the message of a task carries further ones of the same name."""
    return {BUNDLE: [{"kwargs": it.kwargs, "headers": it.headers} for it in others]} if others else {}


def _read_bundle(request: Any) -> list[KeptTask]:
    """Return the further tasks of a message; none if another program wrote the header."""
    found = request.request_dict.get(BUNDLE) or ()
    try:
        return [KeptTask(request.name, {**it["kwargs"]}, {**it["headers"]}, is_short=True) for it in found]
    except (KeyError, TypeError):
        log.error("ignoring malformed header %s of Celery task %s", BUNDLE, request.id)
        return []


@dataclass(slots=True, eq=False)
class _Slice:
    """Time of a thread for a task and its successors."""

    app: Celery
    runner: _SliceRunner
    until: float
    kept: deque[KeptTask] = field(default_factory=deque)
    #: Short tasks that came too late to be kept.
    later: deque[KeptTask] = field(default_factory=deque)
    #: How many more tasks it may keep.
    left: int = SLICE_TASKS
    #: Whether its late tasks are sent.
    is_watched: bool = False
    #: Arguments with which the message is acknowledged at the end.
    ack: list[tuple[Any, ...]] = field(default_factory=list)

    def keep(self, task: KeptTask) -> None:
        """Add a task to run in this thread."""
        self.kept.append(task)
        self.left -= 1
        if len(self.kept) > 1:
            self._watch()

    def send_at_end(self, task: KeptTask) -> None:
        """Add a task to send with others, when the thread has run those before it or the slice ends."""
        self.later.append(task)
        self._watch()

    def _watch(self) -> None:
        if not self.is_watched:
            self.is_watched = True
            self.runner.late_tasks.watch(self)

    def send_kept(self) -> None:
        """Send each remaining task by itself, because one of them is slow, and the later ones."""
        while (task := _take(self.kept)) is not None:
            _send(self.app, [task])
        self.send_later()

    def send_later(self) -> None:
        """Send the tasks that came too late, in bundles."""
        while bundle := [it for _ in range(SLICE_TASKS) if (it := _take(self.later)) is not None]:
            _send(self.app, bundle)


def _take(tasks: deque[KeptTask]) -> KeptTask | None:
    """Remove and return the first task. Called by two threads."""
    try:
        return tasks.popleft()
    except IndexError:
        return None


class _Thread(threading.local):
    current: _Slice | None = None


_thread = _Thread()


def keep_task(app: Celery, task: KeptTask) -> bool:
    """Run a task in this thread after the current one; return False if it must be sent."""
    current = _thread.current
    if current is None or current.app is not app or not current.runner.may_keep(task.name):
        return False
    if current.kept and not (task.is_short and current.kept[-1].is_short):
        return False
    if not current.left or time.monotonic() >= current.until:
        if task.is_short:
            current.send_at_end(task)
        return task.is_short
    current.keep(task)
    return True


def _send(app: Celery, tasks: Sequence[KeptTask]) -> None:
    send: Callable[[Sequence[KeptTask]], None] = getattr(app, _SENDER_ATTRIBUTE)
    try:
        send(tasks)
    except Exception:
        log.exception(
            "sending kept Celery tasks failed: %s", ", ".join(str(it.headers["id"]) for it in tasks)
        )


class _LateTasks:
    """Thread that sends the kept tasks which have not begun at the end of their slice."""

    def __init__(self) -> None:
        self._slices: deque[_Slice] = deque()
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None

    def watch(self, kept: _Slice) -> None:
        """Send the tasks of a slice that have not begun at its end."""
        with self._condition:
            self._slices.append(kept)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="symposia-late-tasks", daemon=True)
                self._thread.start()
            elif len(self._slices) == 1:
                self._condition.notify()

    def _run(self) -> None:
        while True:
            with self._condition:
                while not self._slices:
                    self._condition.wait()
                first = self._slices[0]
            time.sleep(max(first.until - time.monotonic(), _PAUSE_S))
            with self._condition:
                ended = [it for it in self._slices if it.until <= time.monotonic()]
                self._slices = deque(it for it in self._slices if it not in ended)
            for it in ended:
                it.send_kept()


class _Delivery:
    """What a request reads from its message."""

    delivery_info: dict[str, Any] = {}  # noqa: RUF012 - never changed

    def __init__(self, properties: dict[str, Any]) -> None:
        self.properties = properties


class _SliceRunner:
    """Runs the tasks of a worker with a pool of threads, and the successors that they keep."""

    def __init__(self, consumer: Any) -> None:
        self.is_open = True
        self.late_tasks = _LateTasks()
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
        current = _Slice(self._app, self, time.monotonic() + SLICE_S)
        acknowledge = request._on_ack  # noqa: SLF001 - fixed when the request is created

        def acknowledge_at_end(*args: Any) -> None:
            if current.kept or current.later:
                current.ack.append(args)
            else:
                acknowledge(*args)

        request._on_ack = acknowledge_at_end  # noqa: SLF001
        for further in _read_bundle(request):
            current.keep(further)
        _thread.current = current
        try:
            try:
                apply_target(*call)
            except Exception:
                # Celery's pool discards the error. A task that was kept before it still runs.
                log.exception("Celery task %s failed in its worker", request.id)
            while (task := _take(current.kept)) is not None:
                is_alone = not (current.kept or current.later)
                if is_alone or (time.monotonic() < current.until and self.may_keep(task.name)):
                    self._run_kept(task)
                else:
                    current.send_at_end(task)
        finally:
            _thread.current = None
            current.send_later()
            for args in current.ack:
                acknowledge(*args)

    def _run_kept(self, task: KeptTask) -> None:
        request = self._request(task)
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
            found = self._app.tasks[task.name]
            self._requests[task.name] = create_request_cls(
                symbol_by_name(found.Request),
                found,
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


def _send_bundle(request: Any) -> None:
    """Send each further task of a message by itself."""
    for task in _read_bundle(request):
        _send(request.app, [task])


class KeptTasksStep(bootsteps.StartStopStep):
    """Bootstep that lets the threads of a worker keep tasks while it is connected to its broker."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, _consumer: Any, **_options: Any) -> None:
        self._runner: _SliceRunner | None = None

    def start(self, consumer: Any) -> None:
        """As in StartStopStep."""
        pool: Any = consumer.pool
        if isinstance(pool, ThreadPool):
            self._runner = _SliceRunner(consumer)
            pool.on_apply = self._runner.on_apply  # type: ignore[method-assign]
        else:
            consumer.on_task_message.add(_send_bundle)  # a set: after a reconnect it is already in it

    def stop(self, _consumer: Any) -> None:
        """As in StartStopStep."""
        if self._runner is not None:
            self._runner.is_open = False
