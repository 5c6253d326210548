"""A consumer whose turns do not hold up a cold shutdown (SIGQUIT, the second Ctrl-C).

In its signal handler Celery 5.7.0 does two things that threads do not bear:

1. It kills the tasks that still run. Threads cannot be killed: it raises `NotImplementedError`, and the process stays
   until the last agent has answered. But the agents can be told to stop, and then their threads end. What they would
   have said is said elsewhere, when their leases have run out.
2. It stops the pool. That takes a lock which the interrupted main thread may hold, if it was handing a task over: the
   process would wait for itself for good (python/cpython#121649). So nobody stops the threads; they end by themselves,
   and the interpreter waits for them before it goes.
"""

from __future__ import annotations

import threading

from celery import Celery
from celery.concurrency.thread import TaskPool as ThreadPool
from celery.worker.consumer import Consumer

from ..tasks.runtime import runtime_of


class PromptConsumer(Consumer):
    """Celery's consumer, ending promptly also where turns run in threads."""

    def cancel_active_requests(self) -> None:
        """As in Consumer."""
        if not isinstance(self.pool, ThreadPool):
            super().cancel_active_requests()
            return
        self.pool.on_stop = _leave_to_themselves  # type: ignore[method-assign]
        # In a thread: what the signal interrupted may hold the locks that are needed, also that of building the runtime.
        threading.Thread(target=_let_go, args=(self.app,), daemon=True).start()


def _let_go(app: Celery) -> None:
    runtime_of(app).leases.let_go()


def _leave_to_themselves() -> None:
    """Instead of the pool's `on_stop`, which the signal handler calls next."""
