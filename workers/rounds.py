"""A thread of a worker that does something again and again; Redis being away only delays it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from redis.exceptions import RedisError

log = logging.getLogger(__name__)


class RoundThread(threading.Thread):
    """Calls `turn` at once, then every `interval_s` seconds, until `close`.

    Args:
        what: what it does, for the log and the thread's name.
        turn: what is done each time; it may raise.
        interval_s: seconds from the end of one to the next.
    """

    def __init__(self, what: str, turn: Callable[[], object], *, interval_s: float) -> None:
        super().__init__(name=f"symposia-{what}", daemon=True)
        self._what = what
        self._turn = turn
        self._interval_s = interval_s
        self._closed = threading.Event()

    def run(self) -> None:
        """Goes on until `close`."""
        while True:
            try:
                self._turn()
            except (RedisError, OSError) as error:
                log.warning("%s put off: %s", self._what, error)
            except Exception:
                log.exception("%s failed; it will be tried again", self._what)
            if self._closed.wait(self._interval_s):
                return

    def close(self) -> None:
        """Ends the thread after what it does now."""
        self._closed.set()
