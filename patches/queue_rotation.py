"""The order in which kombu's Redis transport asks its queues, and which of them were empty at the last message.

kombu asks for a message of several queues with one BRPOP, which takes it from the first that is not empty, and then
moves that queue to the end. So the queues before it were empty: all messages sent to them earlier have been taken.
kombu does not say which they were. Not a defect of kombu, so there is no issue.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kombu.utils.scheduling import round_robin_cycle


class QueueRotation(round_robin_cycle):  # type: ignore[type-arg]  # not subscriptable
    """kombu's rotation, with the queues that were empty when the last message was taken."""

    def __init__(self, it: list[str] | None = None) -> None:
        super().__init__(it)
        self._asked: Sequence[str] = ()
        #: Queues that were empty when the last message was taken.
        self.empty: Sequence[str] = ()

    def consume(self, n: int) -> list[str]:  # type: ignore[override]  # a list: kombu reads it several times
        """Return the queues in the order in which they are asked."""
        asked = list(super().consume(n))
        self._asked = tuple(asked)
        return asked

    def rotate(self, last_used: str) -> str:  # type: ignore[override]  # as kombu, whose stub says None
        """Move the queue of the last message to the end."""
        asked = self._asked
        self.empty = asked[: asked.index(last_used)] if last_used in asked else ()
        super().rotate(last_used)
        return last_used


def empty_queues(request: Any) -> Sequence[str]:
    """Return the queues that were empty when the message of a Celery task was taken; none with other brokers."""
    cycle = getattr(request.message.channel, "_queue_cycle", None)
    return cycle.empty if isinstance(cycle, QueueRotation) else ()
