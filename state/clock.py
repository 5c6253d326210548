"""The server's clock: the only one that all hosts share, whatever their own say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from redis import Redis


def server_ms(client: Redis) -> int:
    """The server's time in milliseconds since the epoch: one round trip."""
    return time_ms(cast("Sequence[int | str]", client.time()))


def time_ms(answer: Sequence[int | str]) -> int:
    """The answer of `TIME`, seconds and microseconds, in milliseconds."""
    seconds, micros = answer
    return int(seconds) * 1000 + int(micros) // 1000
