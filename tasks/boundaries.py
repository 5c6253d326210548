"""The boundaries between the steps of a turn: the places where the death of a worker makes a difference.

Each turn tells the runtime's `crossing` when it gets to one. In production nobody listens; the fault
suite's workers put something there that kills, freezes or delays them exactly then.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class Boundary(StrEnum):
    """Where a turn is, in the order in which it gets there."""

    #: The message has arrived; nothing was asked of Redis.
    BEFORE_BEGIN = "before-begin"
    #: The floor is taken; the agent knows nothing yet.
    AFTER_BEGIN = "after-begin"
    #: The agent speaks, and its lease is being renewed.
    SPEAKING = "speaking"
    #: All is said; nothing is written.
    BEFORE_COMMIT = "before-commit"
    #: The turn is written, and the next one planned with it; nobody was told.
    AFTER_COMMIT = "after-commit"
    #: What comes next is in the queue; the message of this turn is still unacknowledged.
    BEFORE_ACK = "before-ack"


#: Called with the boundary, the session's id and the turn's number, from the thread that runs the turn.
Crossing = Callable[[Boundary, str, int], None]


def unwatched(_boundary: Boundary, _session_id: str, _number: int) -> None:
    """What production does at a boundary: nothing."""
