"""Retries of a write during a Redis outage, because giving up would lose a paid answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_fixed

from ...models.errors import RedisUnavailable

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds between two attempts: a fraction of any lease, so that a write does not miss its own lease.
PAUSE_S = 0.25


def retry_during_outage(write: Callable[[], T], *, until: float, what: str) -> T:
    """Return what `write` returns. Retry while Redis is unavailable.

    Args:
        write: Calls a script, which gives the same answer when it is called again.
        until: When to give up, by `time.monotonic()`.
        what: What waits meanwhile, for the log.

    Raises:
        RedisUnavailable: Redis was still unavailable at that time.
    """

    def log_first(state: RetryCallState) -> None:
        if state.attempt_number == 1 and state.outcome is not None:
            log.warning("writing %s failed, retrying: %s", what, state.outcome.exception())

    retrying = Retrying(
        retry=retry_if_exception_type(RedisUnavailable),
        stop=lambda _: time.monotonic() >= until,
        wait=wait_fixed(PAUSE_S),
        sleep=time.sleep,
        before_sleep=log_first,
        reraise=True,
    )
    return retrying(write)
