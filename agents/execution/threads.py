"""Threads for agents that block: bounded in number, and never in the way of the exit.

The pool of the standard library joins its threads when the process ends, so one callable
that hangs would hold up a worker's shutdown. These are daemon threads: a turn that is cut
off this way is begun again elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from queue import SimpleQueue
from typing import TypeVar

from .fork_safety import reset_in_children

T = TypeVar("T")
QueuedCall = Callable[[], None]


class DaemonThreadPool:
    """At most `limit` threads, started as they are needed; further calls wait for a free one."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self.reset_after_fork()
        reset_in_children(self)

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Run `call` in a thread, with a copy of the caller's context variables.

        Cancelling the future keeps a call from starting; nothing can stop one that runs.
        """
        future: Future[T] = Future()
        context = copy_context()

        def job() -> None:
            if future.set_running_or_notify_cancel():
                context.run(_run_call, future, call)

        with self._lock:
            self._unfinished += 1
            if self._unfinished > self._started and self._started < self._limit:
                self._started += 1
                threading.Thread(target=self._work, name="symposia-callable", daemon=True).start()
        self._jobs.put(job)
        return future

    def reset_after_fork(self) -> None:
        """Restart in a forked child, which has none of the threads."""
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[QueuedCall] = SimpleQueue()
        self._started = 0
        self._unfinished = 0

    def _work(self) -> None:
        jobs = self._jobs
        while True:
            jobs.get()()
            with self._lock:
                self._unfinished -= 1


def _run_call(future: Future[T], call: Callable[[], T]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - even SystemExit is the caller's to judge, not this thread's
        # A coroutine that awaits the call could not be given a StopIteration: it would wait forever.
        future.set_exception(RuntimeError("StopIteration") if isinstance(error, StopIteration) else error)
