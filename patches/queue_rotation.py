"""The order in which kombu's Redis transport asks its queues, and which of them were empty at the last message.

kombu asks for a message of several queues with one BRPOP, which takes it from the first that is not empty, and then
moves that queue to the end. So the queues before it were empty: all messages sent to them earlier have been taken.
kombu does not say which they were. Not a defect of kombu, so there is no issue.

The queues of the priorities of one lane take turns as one: see `LaneOrder`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from kombu.utils.scheduling import round_robin_cycle

from ..models.sessions.priority import Priority, split_priority

#: Number of messages of a lane after which the order of its priorities repeats.
PERIOD: Final = 8
#: Priorities in the order in which they are asked, where it is not that of `Priority`, by number of the message.
_EXCEPTIONS: Final = {
    PERIOD // 2 - 1: (Priority.NORMAL, Priority.HIGH, Priority.LOW),
    PERIOD - 1: (Priority.LOW, Priority.NORMAL, Priority.HIGH),
}
#: Messages of a lane after which a queue that gave none of them is expected to be empty.
_QUIET: Final = 64


class LaneOrder:
    """The queues of a lane in the order in which they are asked for its next message.

    The first queue is that of the highest priority, but for two messages of eight: one is taken from the queue of normal
    priority and one from that of low priority if they have any. So no priority waits without end.

    A queue that has been empty for long is asked before those of a higher priority. It gets no share by that: its first
    message ends it. But the search for lost messages learns at each message that the queue is empty.

    Args:
        queues: Names of the queues.
    """

    def __init__(self, queues: Iterable[str]) -> None:
        self._priorities = {name: split_priority(name)[1] for name in queues}
        self._taken = 0
        self._last: dict[str, int] = dict.fromkeys(self._priorities, -_QUIET)
        self._sort()

    def record_taken(self, queue: str) -> None:
        """Record that a message of this queue was taken."""
        self._taken += 1
        self._last[queue] = self._taken
        if len(self._last) > 1:
            self._sort()

    def _sort(self) -> None:
        exception = _EXCEPTIONS.get(self._taken % PERIOD)
        ranks = exception or tuple(Priority)
        self.queues = sorted(
            self._priorities,
            key=lambda name: (
                exception is not None or self._taken - self._last[name] < _QUIET,
                ranks.index(self._priorities[name]),
            ),
        )


class QueueRotation(round_robin_cycle):  # type: ignore[type-arg]  # not subscriptable
    """kombu's rotation, of lanes instead of queues, with the queues that were empty when the last message was taken."""

    def __init__(self, it: list[str] | None = None) -> None:
        super().__init__(it)
        self._asked: Sequence[str] = ()
        #: Queues that were empty when the last message was taken.
        self.empty: Sequence[str] = ()
        #: Lanes in the order of the rotation, by name of the queue of normal priority.
        self._lanes: dict[str, LaneOrder] = {}
        self.update(it or [])

    def update(self, it: Iterable[str]) -> None:
        """Set the queues."""
        names = list(it)
        super().update(names)
        lanes: dict[str, list[str]] = {}
        for name in names:
            lanes.setdefault(split_priority(name)[0], []).append(name)
        self._lanes = {name: LaneOrder(queues) for name, queues in lanes.items()}

    def consume(self, n: int) -> list[str]:  # type: ignore[override]  # a list: kombu reads it several times
        """Return the queues in the order in which they are asked."""
        asked = [name for lane in self._lanes.values() for name in lane.queues][:n]
        self._asked = tuple(asked)
        return asked

    def rotate(self, last_used: str) -> str:  # type: ignore[override]  # as kombu, whose stub says None
        """Move the lane of the last message to the end."""
        asked = self._asked
        self.empty = asked[: asked.index(last_used)] if last_used in asked else ()
        name = split_priority(last_used)[0]
        if (lane := self._lanes.pop(name, None)) is not None:
            self._lanes[name] = lane
            lane.record_taken(last_used)
        return last_used


def empty_queues(request: Any) -> Sequence[str]:
    """Return the queues that were empty when the message of a Celery task was taken; none with other brokers."""
    cycle = getattr(request.message.channel, "_queue_cycle", None)
    return cycle.empty if isinstance(cycle, QueueRotation) else ()
