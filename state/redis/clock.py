"""The clock of the server, which all hosts share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from redis import Redis


def server_ms(client: Redis) -> int:
    """Return the server's time in milliseconds since the epoch: one round trip."""
    return time_ms(cast("Sequence[int | str]", client.time()))


def time_ms(answer: Sequence[int | str]) -> int:
    """Convert the answer of `TIME`, seconds and microseconds, to milliseconds."""
    seconds, micros = answer
    return int(seconds) * 1000 + int(micros) // 1000
