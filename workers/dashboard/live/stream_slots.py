"""Limit of the open streams per browser.

A browser opens at most six connections to one host (HTTP/1.1), and a stream occupies one of them. With more
tabs than streams, the others poll.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

#: Maximum number of open streams of one browser.
MAX_PER_BROWSER = 3
#: Maximum number of open streams of the process.
MAX_STREAMS = 1_000


class StreamSlots:
    """The open streams by browser."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    @contextmanager
    def slot(self, browser: str) -> Iterator[bool]:
        """Occupy a slot in the context; False: there is none, so the page must poll."""
        if self._open[browser] >= MAX_PER_BROWSER or self._open.total() >= MAX_STREAMS:
            yield False
            return
        self._open[browser] += 1
        try:
            yield True
        finally:
            self._open[browser] -= 1
            if not self._open[browser]:
                del self._open[browser]
