"""Running beats, for `doctor`."""

from __future__ import annotations

from typing import cast

from redis import Redis

from ..redis.clock import server_ms
from ..redis.keys import BEATS

#: Milliseconds of silence after which a beat counts as gone.
BEAT_SILENT_MS = 30_000


class BeatPresence:
    """A hash of a beat's name -> the time of its last sign of life; writers remove old entries."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def announce(self, name: str) -> None:
        """Record that a beat is running, and remove those that are gone."""
        heard, now_ms = self._heard()
        self._client.hset(BEATS, name, now_ms)
        self._client.pexpire(BEATS, 10 * BEAT_SILENT_MS)
        if gone := [it for it, at_ms in heard.items() if now_ms - at_ms > BEAT_SILENT_MS]:
            self._client.hdel(BEATS, *gone)

    def leave(self, name: str) -> None:
        """Remove a beat that stops."""
        self._client.hdel(BEATS, name)

    def list_alive(self) -> list[str]:
        """Return the beats heard of within the last 30 seconds, by name."""
        heard, now_ms = self._heard()
        return sorted(it for it, at_ms in heard.items() if now_ms - at_ms <= BEAT_SILENT_MS)

    def _heard(self) -> tuple[dict[str, int], int]:
        heard = cast("dict[str, str]", self._client.hgetall(BEATS))
        return {name: int(at) for name, at in heard.items()}, server_ms(self._client)
