"""Queues of running workers by what they can run: where a worker sends a message that it cannot use itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import choice

from .presence import WorkerEntry, WorkerPresence

#: Seconds for which announcements are kept in memory: workers announce themselves every five seconds.
_CACHE_S = 1.0


class WorkerRoutes:
    """Routes to running workers, from their announcements. Safe to use from several threads.

    Every method returns the name of a queue; '' if only workers of an earlier release are suitable, which have no queue
    of their own; None: no running worker is suitable.

    Args:
        presence: The running workers.
        clock: Function that returns monotonic seconds.
    """

    def __init__(self, presence: WorkerPresence, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._presence = presence
        self._clock = clock
        self._read: tuple[float, list[WorkerEntry]]
        self.forget()

    def forget(self) -> None:
        """Forget the announcements: a worker was lost."""
        self._read = (-_CACHE_S, [])

    def to_agent(self, agent: str, *, fresh: bool = False) -> str | None:
        """Return the route to a worker that can run an agent.

        `fresh`: read the announcements now, because a wait depends on the answer.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        return self._pick(lambda worker: worker.can_run(agent), fresh=fresh)

    def to_format(self, session_format: int) -> str | None:
        """Return the route to a worker that reads sessions of a format. Raises RedisUnavailable."""
        return self._pick(lambda worker: worker.route.session_format >= session_format)

    def _pick(self, is_suitable: Callable[[WorkerEntry], bool], *, fresh: bool = False) -> str | None:
        at_s, workers = self._read
        if fresh or self._clock() >= at_s + _CACHE_S:
            workers = self._presence.list_alive()
            self._read = self._clock(), workers
        suitable = [worker.route.queue for worker in workers if is_suitable(worker)]
        queues = [queue for queue in suitable if queue]
        # A queue with more workers is chosen more often.
        return choice(queues) if queues else ("" if suitable else None)  # noqa: S311 - not a secret
