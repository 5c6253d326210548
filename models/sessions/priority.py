"""Priority of a session among those of its tenant, and the queues in which its messages wait. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ..errors import InvalidInput

#: End of the name of a queue of messages that have not the priority `normal`.
_SUFFIX: Final = "-priority"


class Priority(StrEnum):
    """Priority of a session among those of its tenant, the highest first."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"

    @classmethod
    def read(cls, data: object, *, field: str = "priority") -> Priority:
        """Return the priority of that name. Raises InvalidInput, which names the field, if there is none."""
        if not isinstance(data, str) or data not in {*cls}:
            raise InvalidInput(field, data, f"must be one of {', '.join(cls)}, or omitted")
        return cls(data)


@dataclass(frozen=True, slots=True)
class QueueShare:
    """The facts of a session that decide in which queue its messages wait."""

    tenant: str | None = None
    priority: Priority = Priority.NORMAL


#: Share of the sessions without a tenant that have the normal priority.
COMMON_SHARE: Final = QueueShare()


def priority_queue(queue: str, priority: Priority) -> str:
    """Return the queue of the messages of a priority, for those of `queue`."""
    return queue if priority is Priority.NORMAL else f"{queue}.{priority}{_SUFFIX}"


def split_priority(name: str) -> tuple[str, Priority]:
    """Return the arguments of `priority_queue` for its result."""
    queue, dot, ending = name.rpartition(".")
    for priority in Priority:
        if dot and priority is not Priority.NORMAL and ending == f"{priority}{_SUFFIX}":
            return queue, priority
    return name, Priority.NORMAL
