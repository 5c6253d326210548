"""Background reading of the metrics, so that a scrape reads memory only and is answered while Redis is unavailable."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from redis.exceptions import RedisError

from ...models.errors import SymposiaError
from .reader import MetricsSnapshot

log = logging.getLogger(__name__)

#: Seconds between two readings.
REFRESH_EVERY_S = 5.0


class MetricsRefresher:
    """Daemon thread that reads the metrics again and again.

    Args:
        read: Function that reads the metrics from Redis.
        every_s: Seconds between two readings.
    """

    def __init__(self, read: Callable[[], MetricsSnapshot], *, every_s: float = REFRESH_EVERY_S) -> None:
        self._read = read
        self._every_s = every_s
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._is_away = False
        self._read_at = time.monotonic()
        #: The newest reading; None before the first one.
        self.newest: MetricsSnapshot | None = None

    @property
    def age_s(self) -> float:
        """Seconds since the newest reading, or since the creation of this object before the first one."""
        return time.monotonic() - self._read_at

    def start(self) -> None:
        """Start the thread, unless it was started before."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="symposia-metrics-reader", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End the thread after its current reading."""
        self._closed.set()

    def refresh(self) -> None:
        """Read the metrics once; keep the newest reading while Redis is unavailable."""
        began = time.monotonic()
        try:
            self.newest = self._read()
        except (RedisError, SymposiaError, OSError) as error:
            if not self._is_away:
                log.warning("reading metrics failed, will retry: %s", error)
            self._is_away = True
        else:
            self._read_at, self._is_away = began, False

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                self.refresh()
            except Exception:
                log.exception("reading metrics failed, will retry")
            self._closed.wait(self._every_s)
