"""Cache of results with a limit of their total size, because participants choose how large a result is."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """The results that were used last. Methods may be called from any thread.

    Args:
        most: Maximum total size of the results, in bytes.
        size: Returns the approximate size of a result with its key, in bytes.
    """

    def __init__(self, most: int, size: Callable[[K, V], int]) -> None:
        self._most = most
        self._size = size
        self._lock = Lock()
        self._results: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self.total = 0

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the result of a key.

        Args:
            key: The key.
            make: Makes the result; it is called without the lock, so two threads may both call it.
        """
        with self._lock:
            if cached := self._results.get(key):
                self._results.move_to_end(key)
                return cached[0]
        result = make()
        size = self._size(key, result)
        with self._lock:
            if key not in self._results:
                self._results[key] = result, size
                self.total += size
            while self.total > self._most:
                _, (_, dropped) = self._results.popitem(last=False)
                self.total -= dropped
        return result
