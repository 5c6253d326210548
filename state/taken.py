"""How far the workers have come in the queue.

The queue is first in, first out. So a message that was sent before another one that a worker has taken was taken, too, or
got lost. Every message of a session carries the time at which it was sent, by the server's clock; each worker notes the
newest time of what it took, and its sweep tells the others. Where workers take nothing at all, which may be because they are
busy or because the queue was lost, one hint at a time may be sent as a probe.
"""

from __future__ import annotations

from typing import Final

from redis import Redis

from .keys import TAKEN
from .scripts import call

#: The header of a message that holds when it was sent: milliseconds since the epoch, by the server's clock.
SENT_MS: Final = "symposia_sent_ms"
#: Milliseconds after which nobody remembers how far the workers had come.
TTL_MS = 3_600_000
#: Larger numbers are no time, and no number that a script can read.
_NO_TIME = 2**53


class TakenMark:
    """The sending time of the newest message that was taken from the queue. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._newest_ms = 0

    def note(self, sent_ms: object) -> None:
        """This process took a message that was sent at `sent_ms`; anything but a time is not ours."""
        if isinstance(sent_ms, int) and self._newest_ms < sent_ms < _NO_TIME:
            self._newest_ms = sent_ms

    def tell(self) -> int:
        """Tells what this process noted; answers the newest time of all, 0 when there is none. Raises RedisUnavailable."""
        newest_ms: int = call(
            self._client, "taken", [TAKEN], {"newest_ms": self._newest_ms, "ttl_ms": TTL_MS}
        )[1]
        return newest_ms

    def probe(self, *, grace_ms: int) -> int:
        """Asks to send a hint as a probe; answers 0 when it may, else milliseconds to wait. Raises RedisUnavailable."""
        answer = call(self._client, "probe", [TAKEN], {"grace_ms": grace_ms, "ttl_ms": TTL_MS})
        return 0 if answer[0] == "granted" else int(answer[1])
