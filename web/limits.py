"""Limits of a server process: requests a minute and open streams of each caller."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.exceptions import HTTPException

from ..models.identity import Caller

#: Maximum number of callers whose requests are counted; those that have been idle longest are forgotten.
_MAX_CALLERS = 10_000
_MINUTE_S = 60.0
#: Maximum number of open streams of a caller, unless the settings say otherwise.
DEFAULT_STREAMS = 200


def _key(caller: Caller) -> tuple[str | None, str]:
    return caller.tenant, caller.name


class CallerLimits:
    """Counts the requests and streams of callers in this process.

    A caller may use its requests of a minute at once; they come back evenly over the minute.

    Args:
        requests: Maximum requests a minute of each caller. None: no limit.
        streams: Maximum open streams of each caller.
    """

    def __init__(self, requests: int | None, streams: int = DEFAULT_STREAMS) -> None:
        self._max_streams = streams
        self._requests = requests
        #: Caller -> (requests that are left, time of that).
        self._left: OrderedDict[tuple[str | None, str], tuple[float, float]] = OrderedDict()
        self._streams: Counter[tuple[str | None, str]] = Counter()

    def count_request(self, caller: Caller) -> None:
        """Count a request.

        Raises:
            HTTPException: The caller has made too many; status 429.
        """
        if self._requests is None:
            return
        key, now, rate = _key(caller), time.monotonic(), self._requests / _MINUTE_S
        left, at = self._left.pop(key, (float(self._requests), now))
        left = min(float(self._requests), left + (now - at) * rate)
        is_allowed = left >= 1
        self._left[key] = (left - 1 if is_allowed else left), now
        if len(self._left) > _MAX_CALLERS:
            self._left.popitem(last=False)
        if not is_allowed:
            wait_s = max(1, round((1 - left) / rate))
            rule = f"more than {self._requests} requests in a minute"
            raise HTTPException(429, rule, headers={"Retry-After": str(wait_s)})

    @contextmanager
    def stream(self, caller: Caller) -> Iterator[None]:
        """Count an open stream until the end of the block.

        Raises:
            HTTPException: The caller has too many; status 429.
        """
        key = _key(caller)
        if self._streams[key] >= self._max_streams:
            raise HTTPException(
                429, f"more than {self._max_streams} open streams", headers={"Retry-After": "5"}
            )
        self._streams[key] += 1
        try:
            yield
        finally:
            self._streams[key] -= 1
            if not self._streams[key]:
                del self._streams[key]
