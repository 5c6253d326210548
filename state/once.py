"""Which copy of a message runs, in Redis: one of several that were sent with the same id. The client must decode.

The value of a key is the copy that was started. The key expires when the process of its run is lost, and a day after
the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from redis import Redis

from .redis.keys import once_key

Answer = Literal["start", "running", "over"]

#: Seconds for which the end of a run is recorded; copies are sent within minutes.
_OVER_TTL_S = 86_400
_OVER = "over "


class OnceStore:
    """Started copies, by the ids of messages."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def start(self, message: str, copy: str, *, lease_ms: int) -> Answer:
        """Claim a message for a copy: `start`; another copy is `running` or its run is `over`.

        The copy that was started may start again: the broker has delivered it again.
        """
        if self._client.set(once_key(message), copy, nx=True, px=lease_ms):
            return "start"
        value = str(self._client.get(once_key(message)) or "")
        if value.removeprefix(_OVER) == copy:
            return "start"
        return "over" if value.startswith(_OVER) else "running"

    def renew(self, messages: Iterable[str], *, lease_ms: int) -> None:
        """Renew the leases of running copies."""
        with self._client.pipeline(transaction=False) as pipe:
            for message in messages:
                pipe.pexpire(once_key(message), lease_ms)
            pipe.execute()

    def finish(self, message: str, copy: str) -> None:
        """Record the end of a run."""
        self._client.set(once_key(message), f"{_OVER}{copy}", ex=_OVER_TTL_S)
