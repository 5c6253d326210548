"""Progress of the workers in the queue, and waiting time of sessions for a worker."""

from __future__ import annotations

from typing import Final

from redis import Redis

from ...models.protocol.collab import CollabStatus
from ..redis.keys import QUEUE_PROGRESS
from ..redis.scripts import call_script
from .records import SessionState

#: Header of a message with its sending time: milliseconds since the epoch, by the server's clock.
SENT_MS: Final = "symposia_sent_ms"
#: Milliseconds after which the progress of workers expires.
TTL_MS = 3_600_000
#: Maximum time in milliseconds; larger numbers are not a time, and scripts cannot read them.
_MAX_TIME_MS = 2**53


class QueueProgress:
    """Sending time of the newest message taken from the queue. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._newest_ms = 0

    def record_taken(self, sent_ms: object) -> None:
        """Record that this process took a message sent at `sent_ms`; a value that is not a time is ignored."""
        if isinstance(sent_ms, int) and self._newest_ms < sent_ms < _MAX_TIME_MS:
            self._newest_ms = sent_ms

    def publish(self, *, is_free: bool = False) -> int:
        """Publish the newest time of this process; return that of all processes, 0: none.

        `is_free`: this process is a worker that could run another task.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        reported_ms = self._newest_ms
        args = {"newest_ms": reported_ms, "is_free": int(is_free), "ttl_ms": TTL_MS}
        newest_ms: int = call_script(self._client, "queue/report_progress", [QUEUE_PROGRESS], args)[1]
        if (
            reported_ms > newest_ms
        ):  # the server's clock was set back: until it reaches the old time, each call would change the time
            self._newest_ms = newest_ms
        return newest_ms

    def probe(self, *, grace_ms: int) -> int:
        """Request permission to send a message again as a probe.

        Return 0 if permitted, otherwise the milliseconds to wait.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        answer = call_script(
            self._client, "queue/request_probe", [QUEUE_PROGRESS], {"grace_ms": grace_ms, "ttl_ms": TTL_MS}
        )
        return 0 if answer[0] == "granted" else int(answer[1])


def queued_for_s(state: SessionState) -> float | None:
    """Return the seconds for which the oldest queued work of a session has waited; None: nothing is queued.

    A turn that waits for a retry, for a person, or for tokens is not queued. The cost is O(open turns).
    """
    if state.status is not CollabStatus.ACTIVE:
        return None
    since = [ms for ms in _queued_since_ms(state) if ms <= state.now_ms]
    return (state.now_ms - min(since)) / 1000 if since else None


def _queued_since_ms(state: SessionState) -> list[int]:
    open_turns = state.open_turns()
    if open_turns:
        return [turn.queued_ms for turn in open_turns if turn.queued_ms is not None]
    # The next step waits for planning since the last turn closed, or since the session was opened or resumed.
    return [state.updated_ms]
