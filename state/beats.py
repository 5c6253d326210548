"""Which beats run: what `doctor` asks."""

from __future__ import annotations

from typing import cast

from redis import Redis

from .clock import server_ms
from .keys import BEATS

#: A beat that has not been heard of for this long is gone.
SILENT_MS = 30_000


class BeatBook:
    """A hash of a beat's name -> the time it was last heard of, kept small by whoever writes to it."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def announce(self, name: str) -> None:
        """Says that a beat runs, and strikes out those that are gone."""
        heard, now_ms = self._heard()
        self._client.hset(BEATS, name, now_ms)
        self._client.pexpire(BEATS, 10 * SILENT_MS)
        if gone := [it for it, at_ms in heard.items() if now_ms - at_ms > SILENT_MS]:
            self._client.hdel(BEATS, *gone)

    def leave(self, name: str) -> None:
        """A beat says that it stops."""
        self._client.hdel(BEATS, name)

    def alive(self) -> list[str]:
        """Beats heard of within the last 30 seconds, by name."""
        heard, now_ms = self._heard()
        return sorted(it for it, at_ms in heard.items() if now_ms - at_ms <= SILENT_MS)

    def _heard(self) -> tuple[dict[str, int], int]:
        heard = cast("dict[str, str]", self._client.hgetall(BEATS))
        return {name: int(at) for name, at in heard.items()}, server_ms(self._client)
