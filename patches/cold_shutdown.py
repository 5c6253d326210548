"""A consumer whose running turns do not delay a cold shutdown (SIGQUIT, the second Ctrl-C).

The signal handler of Celery 5.7.0 does two things that do not work with threads:

1. It terminates the running tasks. Threads cannot be terminated: it raises `NotImplementedError`, and the process stays
   until the last agent has answered. This consumer cancels the agents instead, and then their threads end. Another
   worker repeats their turns when the leases have expired.
2. It stops the pool. That takes a lock which the interrupted main thread may hold, if it was submitting a task: a
   deadlock (python/cpython#121649). So nothing stops the threads here. They end by themselves, and the interpreter
   waits for them before it exits.

Upstream: celery/celery#10490. Remove this module when `test_celery_cannot_terminate_a_thread` fails.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from celery import Celery
from celery.concurrency.thread import TaskPool as ThreadPool
from celery.worker.consumer import Consumer

_CANCEL_ATTRIBUTE = "symposia_cancel_turns"


def install_cancel_turns(app: Celery, cancel: Callable[[], None]) -> None:
    """Set what a cold shutdown of this app's workers calls to cancel the turns of the process."""
    setattr(app, _CANCEL_ATTRIBUTE, cancel)


class ColdShutdownConsumer(Consumer):
    """Celery's consumer, ending promptly also where turns run in threads."""

    def cancel_active_requests(self) -> None:
        """As in Consumer."""
        if not isinstance(self.pool, ThreadPool):
            super().cancel_active_requests()
            return
        self.pool.on_stop = _do_nothing  # type: ignore[method-assign]
        # In a thread: what the signal interrupted may hold the locks that are needed, also that of building the runtime.
        threading.Thread(target=_cancel_turns, args=(self.app,), daemon=True).start()


def _cancel_turns(app: Celery) -> None:
    cancel: Callable[[], None] | None = getattr(app, _CANCEL_ATTRIBUTE, None)
    if cancel is not None:
        cancel()


def _do_nothing() -> None:
    """Instead of the pool's `on_stop`, which the signal handler calls next."""
