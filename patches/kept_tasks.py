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
  message (`KeptTask.is_short`). If one takes `SLICE_S` seconds after all, another thread (`LateTasks`) sends those
  behind it.
- The message that the thread took is acknowledged after the last of them: the worker takes no more messages
  than it has threads.
- The next task can be promised to a thread before it exists (`may_keep_next`, `keep_next`): it runs in that thread even if the
  worker stops in between.
- Nothing else is kept once the worker stops or has lost its broker, in other pools than that of threads, and for
  a task with a rate limit.

A kept task sends the signals of a worker, not those of publishing. If its process dies, it is lost, as a message
without acknowledgement is; so are the others of a bundle whose first task is revoked. Sessions do not depend on it.
A kept task cannot be revoked.
Upstream: the design of Celery, no issue.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from celery import Celery
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)

#: Seconds for which a thread keeps successors, and how many.
SLICE_S = 0.2
SLICE_TASKS = 16
#: Least seconds between two checks for late tasks.
_PAUSE_S = 0.02
#: Header of a bundle: the further tasks, each with its arguments and headers.
BUNDLE: Final = "symposia_bundle"
#: Headers that each task of a bundle has.
_REQUIRED = frozenset({"id", "root_id", "parent_id", "kwargsrepr"})
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


def install_kept_task_sender(app: Celery, send: Callable[[Sequence[Sequence[KeptTask]]], None]) -> None:
    """Set the function with which the workers of an app send kept tasks: a message for each bundle."""
    setattr(app, _SENDER_ATTRIBUTE, send)


def bundle_headers(others: Sequence[KeptTask]) -> dict[str, Any]:
    """Return the headers with which the message of a task carries further ones of the same name."""
    return {BUNDLE: [{"kwargs": task.kwargs, "headers": task.headers} for task in others]} if others else {}


def read_bundle(request: Any) -> list[KeptTask]:
    """Return the further tasks of a message; none if another program wrote the header."""
    entries = request.request_dict.get(BUNDLE) or ()
    try:
        tasks = [
            KeptTask(request.name, {**entry["kwargs"]}, {**entry["headers"]}, is_short=True)
            for entry in entries
        ]
        if all(task.headers.keys() >= _REQUIRED for task in tasks):
            return tasks
        raise KeyError
    except (KeyError, TypeError):
        log.error("ignoring malformed header %s of Celery task %s", BUNDLE, request.id)
        return []


class Runner(Protocol):
    """Runner of the slices of a worker."""

    late_tasks: LateTasks

    def may_keep(self, name: str) -> bool:
        """Return whether tasks of this name may be kept now."""
        ...


@dataclass(slots=True, eq=False)
class Slice:
    """Time of a thread for a task and its successors."""

    app: Celery
    runner: Runner
    #: Start of the running task, and end of the time in which successors are kept, by `time.monotonic()`.
    since: float
    until: float
    kept: deque[KeptTask] = field(default_factory=deque)
    #: The task that this thread has promised to run next.
    next: KeptTask | None = None
    #: Short tasks that came too late to be kept.
    later: deque[KeptTask] = field(default_factory=deque)
    #: How many more tasks it may keep.
    left: int = SLICE_TASKS
    #: Whether another thread watches for a slow task.
    is_watched: bool = False
    is_over: bool = False
    #: Arguments with which the message is acknowledged at the end.
    ack: list[tuple[Any, ...]] = field(default_factory=list)

    def keep(self, task: KeptTask) -> None:
        """Add a task to run in this thread."""
        self.kept.append(task)
        self.left -= 1
        if len(self.kept) > 1:
            self.watch()

    def may_keep_next(self, name: str) -> bool:
        """Return whether the next task of this name will surely run in this thread, at once."""
        is_free = not self.kept and self.next is None and self.left > 0 and time.monotonic() < self.until
        return is_free and self.runner.may_keep(name)

    def take_next(self) -> KeptTask | None:
        """Remove and return the promised task."""
        task, self.next = self.next, None
        return task

    def send_at_end(self, task: KeptTask) -> None:
        """Add a task to send with others, when the thread has run those before it or one of them is slow."""
        self.later.append(task)
        self.watch()

    def watch(self) -> None:
        """Let another thread send the tasks behind a slow one."""
        if not self.is_watched:
            self.is_watched = True
            self.runner.late_tasks.watch(self)

    def send_kept(self) -> None:
        """Send each remaining task by itself, because the one before them is slow, and the later ones."""
        send_bundles(self.app, [[task] for task in _take_all(self.kept)])
        self.send_later()

    def send_later(self) -> None:
        """Send the tasks that came too late, in bundles."""
        tasks = _take_all(self.later)
        send_bundles(self.app, [tasks[at : at + SLICE_TASKS] for at in range(0, len(tasks), SLICE_TASKS)])


def _take_all(tasks: deque[KeptTask]) -> list[KeptTask]:
    """Remove and return all tasks."""
    return list(iter(partial(take_first, tasks), None))


def take_first(tasks: deque[KeptTask]) -> KeptTask | None:
    """Remove and return the first task. Called by two threads."""
    try:
        return tasks.popleft()
    except IndexError:
        return None


class _Thread(threading.local):
    current: Slice | None = None


this_thread = _Thread()


def keep_task(app: Celery, task: KeptTask) -> bool:
    """Run a task in this thread after the current one; return False if it must be sent."""
    current = this_thread.current
    if current is None or current.app is not app or not current.runner.may_keep(task.name):
        return False
    if current.next is not None or (current.kept and not (task.is_short and current.kept[-1].is_short)):
        return False
    if current.left <= 0 or time.monotonic() >= current.until:
        if task.is_short:
            current.send_at_end(task)
        return task.is_short
    current.keep(task)
    return True


def may_keep_next(app: Celery, name: str) -> bool:
    """Return whether this thread can promise to run the next task of this name, whatever happens until it exists."""
    current = this_thread.current
    return current is not None and current.app is app and current.may_keep_next(name)


def keep_next(task: KeptTask) -> None:
    """Run the promised task in this thread after the current one. Only after `may_keep_next`, in the same task."""
    current = this_thread.current
    assert current is not None  # noqa: S101 - see above
    current.next = task
    current.left -= 1


def send_bundles(app: Celery, bundles: Sequence[Sequence[KeptTask]]) -> None:
    """Send bundles. If that fails, the sweep sends their tasks."""
    if not bundles:
        return
    try:
        getattr(app, _SENDER_ATTRIBUTE)(bundles)
    except OperationalError as error:
        log.warning("broker unavailable, the sweep will send kept Celery tasks: %s", error)
    except Exception:
        log.exception("sending kept Celery tasks failed, the sweep will send them")


class LateTasks:
    """Thread that sends the kept tasks behind one that takes too long."""

    def __init__(self) -> None:
        self._slices: list[Slice] = []
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None

    def watch(self, kept: Slice) -> None:
        """Send the waiting tasks of a slice if a task takes `SLICE_S` seconds."""
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
                first = min(task_slice.since for task_slice in self._slices)
            time.sleep(max(first + SLICE_S - time.monotonic(), _PAUSE_S))
            for task_slice in self._take_late():
                task_slice.send_kept()

    def _take_late(self) -> list[Slice]:
        """Stop to watch the slices that are over or late; return those that are late."""
        with self._condition:
            running = [task_slice for task_slice in self._slices if not task_slice.is_over]
            late = [task_slice for task_slice in running if time.monotonic() - task_slice.since >= SLICE_S]
            self._slices = [task_slice for task_slice in running if task_slice not in late]
        for task_slice in late:
            task_slice.is_watched = False  # another task may be added
        return late
