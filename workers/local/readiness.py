"""Readiness of `symposia up`: its workers have announced themselves, and Flower answers."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from contextlib import suppress

from ...models.errors import RedisUnavailable
from ...state.workers.presence import WorkerPresence

#: Seconds between two checks; also the timeout of a connection to Flower.
_LOOK_EVERY_S = 0.5


class Readiness:
    """Check that all services have started; it stops checking once they have.

    Args:
        workers: Where workers announce themselves.
        names: Nodes that were started, such as `worker1@host`.
        page: Host and port of Flower; None if it was not started.
    """

    def __init__(
        self, workers: WorkerPresence, names: Sequence[str], *, page: tuple[str, int] | None = None
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
        self._is_ready = self._workers_announced() and self._answers()
        return self._is_ready

    def _workers_announced(self) -> bool:
        # An older announcement is from a killed worker of the same name.
        youngest_ms = (time.monotonic() - self._began) * 1000
        with suppress(RedisUnavailable):
            alive = {it.name for it in self._workers.list_alive() if it.age_ms <= youngest_ms}
            return self._names <= alive
        return False

    def _answers(self) -> bool:
        if self._page is None:
            return True
        with suppress(OSError), socket.create_connection(self._page, timeout=_LOOK_EVERY_S):
            return True
        return False
