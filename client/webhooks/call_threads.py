"""Threads of a background loop for calls that may take long, with limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import Lock, Thread


class CallThreads:
    """Daemon threads: a worker that stops does not wait for them, and another one repeats what they did.

    Args:
        name: Name of the threads.
        most: Maximum number of parallel calls.
        most_of_one: The same for one key, such as a webhook that answers slowly.
    """

    def __init__(self, name: str, *, most: int, most_of_one: int) -> None:
        self._name = name
        self._most = most
        self._most_of_one = most_of_one
        self._running: Counter[str] = Counter()
        self._lock = Lock()

    @property
    def free(self) -> int:
        """Number of calls that may start."""
        with self._lock:
            return self._most - self._running.total()

    def free_of(self, key: str) -> int:
        """Return the number of calls that may start for a key."""
        with self._lock:
            return min(self._most - self._running.total(), self._most_of_one - self._running[key])

    def start(self, key: str, call: Callable[[], object]) -> bool:
        """Start a call, which raises nothing; False: too many are running for the key."""
        with self._lock:
            if self._running[key] >= self._most_of_one:
                return False
            self._running[key] += 1

        def run() -> None:
            try:
                call()
            finally:
                with self._lock:
                    self._running[key] -= 1

        Thread(target=run, name=self._name, daemon=True).start()
        return True
