"""Waits for a Redis that is away, where giving up would throw away what was paid for."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from ..models.errors import RedisUnavailable

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds between two tries: a fraction of any lease, so that a write does not come too late for its own.
PAUSE_S = 0.25


def outlast_outage(write: Callable[[], T], *, until: float, what: str) -> T:
    """What `write` answers, tried again for as long as Redis is away.

    Args:
        write: Calls a script, which answers the same when it is called again.
        until: When to give up, by `time.monotonic()`.
        what: What waits meanwhile, for the log.

    Raises:
        RedisUnavailable: Redis was still away then.
    """
    is_told = False
    while True:
        try:
            return write()
        except RedisUnavailable as error:
            if time.monotonic() >= until:
                raise
            if not is_told:
                log.warning("%s waits to be written: %s", what, error)
            is_told = True
            time.sleep(PAUSE_S)
