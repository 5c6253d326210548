"""Time for which a worker has had a free slot without starting a Celery task; `symposia doctor` compares it with the queue."""

from __future__ import annotations

import time
from collections.abc import Callable

from celery.worker import state


class IdleTimer:
    """Watches Celery's own counts of this worker process; `look` is called again and again.

    Args:
        places: Returns the number of tasks that run side by side.
        clock: Seconds.
    """

    def __init__(self, places: Callable[[], int], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._places = places
        self._clock = clock
        self._begun = state.all_total_count[0]
        self._was_busy = False
        self._since_s = clock()

    def update(self) -> None:
        """Start again at zero if a task has begun since the last look, or if every place was taken at either look."""
        begun, is_busy = state.all_total_count[0], len(state.active_requests) >= self._places()
        if begun != self._begun or is_busy or self._was_busy:
            self._since_s = self._clock()
        self._begun, self._was_busy = begun, is_busy

    @property
    def ms(self) -> int:
        """Idle milliseconds up to now."""
        return int((self._clock() - self._since_s) * 1000)
