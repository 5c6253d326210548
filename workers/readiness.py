"""When everything that `symposia up` started can be used: its workers take turns, and Flower answers."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from contextlib import suppress

from ..models.errors import RedisUnavailable
from ..state.workers import WorkerBook

#: Seconds between two looks, and for which a connection to Flower is tried.
_LOOK_EVERY_S = 0.5


class Readiness:
    """Looks now and then whether everything has started; once it has, it looks no more.

    Args:
        workers: where workers announce themselves.
        names: the nodes that were started, such as `worker1@host`.
        page: host and port of Flower; None: it was not started.
    """

    def __init__(
        self, workers: WorkerBook, names: Sequence[str], *, page: tuple[str, int] | None = None
    ) -> None:
        self._workers = workers
        self._names = frozenset(names)
        self._page = page
        self._began = time.monotonic()
        self._next_look = 0.0
        self._is_ready = False

    def became_ready(self) -> bool:
        """Return True once: in the call that finds everything started."""
        if self._is_ready or time.monotonic() < self._next_look:
            return False
        self._next_look = time.monotonic() + _LOOK_EVERY_S
        self._is_ready = self._are_there() and self._answers()
        return self._is_ready

    def _are_there(self) -> bool:
        # A worker of the same name that was killed a moment ago announced itself before these were started.
        youngest_ms = (time.monotonic() - self._began) * 1000
        with suppress(RedisUnavailable):
            alive = {it.name for it in self._workers.alive() if it.age_ms <= youngest_ms}
            return self._names <= alive
        return False

    def _answers(self) -> bool:
        if self._page is None:
            return True
        with suppress(OSError), socket.create_connection(self._page, timeout=_LOOK_EVERY_S):
            return True
        return False
