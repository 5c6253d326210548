"""Warnings for calls that wait for a session or a review while no worker is running."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from redis.exceptions import RedisError

from ...models.errors import StateError
from .presence import WorkerPresence

log = logging.getLogger(__name__)

#: Seconds between two checks of one call.
LOOK_EVERY_S = 5.0


class WorkerWatch:
    """Warning for a waiting call: logs once that no worker is running, and again only after one was running.

    Args:
        book: the running workers.
        what: what waits, such as `session ID`.
        grace_s: seconds that workers may be missing before the warning.
        clock: seconds of a clock that never goes back.
    """

    def __init__(
        self,
        book: WorkerPresence,
        what: str,
        *,
        grace_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._book = book
        self._what = what
        self._grace_s = grace_s
        self._clock = clock
        self._next_look = clock()
        self._missing_since: float | None = None
        self._warned = False

    def is_due(self) -> bool:
        """Return whether `look` would ask the server now."""
        return self._clock() >= self._next_look

    def check(self) -> None:
        """Look whether a worker is running. May be called at any rate; never raises for a server that is unreachable."""
        if not self.is_due():
            return
        self._next_look = self._clock() + LOOK_EVERY_S
        try:
            is_any_alive = self._book.is_any_alive()
        except (StateError, RedisError, OSError):
            return  # the waiting call reads from the same server, and gets the error there
        self.record_check(is_any_alive)

    def record_check(self, is_any_alive: bool) -> None:
        """Log what has changed."""
        now = self._clock()
        if is_any_alive:
            if self._warned:
                log.info("a worker is running again, %s continues", self._what)
            self._missing_since, self._warned = None, False
            return
        if self._missing_since is None:
            self._missing_since = now
        if not self._warned and now - self._missing_since >= self._grace_s:
            self._warned = True
            log.warning(
                "no worker is running, %s is waiting: start one with `symposia worker` or `symposia up`",
                self._what,
            )
