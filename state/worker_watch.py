"""Warnings for calls that wait for a session or a review while no worker is running."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from redis.exceptions import RedisError

from ..models.errors import StateError
from .workers import WorkerBook

log = logging.getLogger(__name__)

#: Seconds between two looks of one call.
LOOK_EVERY_S = 5.0


class WorkerWatch:
    """Logs once per call that no worker is running, and again only after one was there.

    Args:
        book: which workers are running.
        what: what waits, such as `session ID`.
        grace_s: seconds that workers may be missing before the warning.
        clock: seconds of a clock that never goes back.
    """

    def __init__(
        self,
        book: WorkerBook,
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

    def look(self) -> None:
        """Look whether a worker is running. May be called at any rate; never raises for a server that is unreachable."""
        now = self._clock()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_EVERY_S
        try:
            is_any_alive = self._book.is_any_alive()
        except (StateError, RedisError, OSError):
            return  # whoever waits reads from the same server, and gets the error there
        self.take(is_any_alive)

    async def alook(self) -> None:
        """`look` for asyncio, in a thread."""
        if self._clock() >= self._next_look:
            await asyncio.to_thread(self.look)

    def take(self, is_any_alive: bool) -> None:
        """Log what has changed."""
        now = self._clock()
        if is_any_alive:
            if self._warned:
                log.info("%s: a worker is running again", self._what)
            self._missing_since, self._warned = None, False
            return
        if self._missing_since is None:
            self._missing_since = now
        if not self._warned and now - self._missing_since >= self._grace_s:
            self._warned = True
            log.warning(
                "no worker is running: %s waits until one is started (symposia worker, or symposia up)",
                self._what,
            )
