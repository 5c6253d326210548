"""A consumer whose turns do not hold up a cold shutdown (SIGQUIT, the second Ctrl-C).

Celery 5.7.0 kills the tasks that still run then. Threads cannot be killed: it raises `NotImplementedError` in its signal
handler, and the process stays until the last agent has answered. But the agents can be told to stop, and then
their threads end. What they would have said is said elsewhere, when their leases have run out.
"""

from __future__ import annotations

import threading

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
        # Called from a signal handler, which may have interrupted whoever holds the lock that is needed for it.
        threading.Thread(target=runtime_of(self.app).leases.let_go, daemon=True).start()
