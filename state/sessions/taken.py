"""Progress of the workers in the queue.

The queue is first in, first out. So if a worker has taken a message, every message sent before it was taken too, or
was lost. Every message of a session carries the time at which it was sent, by the server's clock. Each worker notes the
newest time it has taken, and its sweep publishes it, with whether the worker is free. If free workers take nothing at
all, which may be because the queue was lost, one hint at a time may be sent as a probe, by any worker.
"""

from __future__ import annotations

from typing import Final

from redis import Redis

from ..redis.keys import QUEUE_PROGRESS
from ..redis.scripts import call_script

#: Header of a message with its sending time: milliseconds since the epoch, by the server's clock.
SENT_MS: Final = "symposia_sent_ms"
#: Milliseconds after which the progress of workers expires.
TTL_MS = 3_600_000
#: Larger numbers are neither a time nor a number that a script can read.
_MAX_TIME_MS = 2**53


class QueueProgress:
    """The sending time of the newest message that was taken from the queue. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._newest_ms = 0

    def record_taken(self, sent_ms: object) -> None:
        """Note that this process took a message sent at `sent_ms`; a value that is not a time is ignored."""
        if isinstance(sent_ms, int) and self._newest_ms < sent_ms < _MAX_TIME_MS:
            self._newest_ms = sent_ms

    def publish(self, *, is_free: bool = False) -> int:
        """Publish the time noted by this process; return the newest time of all, 0 when there is none. Raises RedisUnavailable.

        `is_free`: it is a worker that could run another task.
        """
        told_ms = self._newest_ms
        args = {"newest_ms": told_ms, "is_free": int(is_free), "ttl_ms": TTL_MS}
        newest_ms: int = call_script(self._client, "queue/report_progress", [QUEUE_PROGRESS], args)[1]
        if (
            told_ms > newest_ms
        ):  # the server's clock was set back: until it reaches the old time, each call would move the time
            self._newest_ms = newest_ms
        return newest_ms

    def probe(self, *, grace_ms: int) -> int:
        """Request permission to send a hint as a probe; return 0 if permitted, else milliseconds to wait. Raises RedisUnavailable."""
        answer = call_script(
            self._client, "queue/request_probe", [QUEUE_PROGRESS], {"grace_ms": grace_ms, "ttl_ms": TTL_MS}
        )
        return 0 if answer[0] == "granted" else int(answer[1])
