"""Log of the outages of one process: one line when an outage begins, one a minute, one when it ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from logging import Logger

from ...models.text.words import count_of

#: Seconds between two lines of one outage.
REPORT_EVERY_S = 60.0


class OutageLog:
    """Log of one kind of outage, whatever its errors say: their texts differ from attempt to attempt.

    Args:
        log: The logger.
        what: What is affected, such as `live pages are delayed`.
        clock: Returns monotonic seconds.
    """

    def __init__(self, log: Logger, what: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._what = what
        self._clock = clock
        self._began_s: float | None = None
        self._logged_s = 0.0
        self._left_out = 0

    def report(self, error: object) -> None:
        """Report a failed attempt."""
        now = self._clock()
        if self._began_s is None:
            self._began_s, self._logged_s, self._left_out = now, now, 0
            self._log.warning("%s, trying again: %s", self._what, error)
        elif now - self._logged_s >= REPORT_EVERY_S:
            self._logged_s = now
            passed, left_out = now - self._began_s, count_of(self._left_out, "message")
            self._log.warning("%s for %.0f s (%s left out): %s", self._what, passed, left_out, error)
        else:
            self._left_out += 1

    def end(self) -> None:
        """Report that attempts work."""
        if self._began_s is not None:
            self._log.warning("%s no longer, after %.0f s", self._what, self._clock() - self._began_s)
            self._began_s = None
