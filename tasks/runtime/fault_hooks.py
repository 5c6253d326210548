"""Boundaries between the steps of a turn: the places where the death of a worker makes a difference.

Each turn calls the runtime's `crossing` at each boundary. In production it does nothing; the workers of the fault
suite install a function that kills, freezes or delays them there.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class Boundary(StrEnum):
    """Position of a turn, in the order in which a turn reaches them."""

    #: The message has arrived; no command was sent to Redis.
    BEFORE_BEGIN = "before-begin"
    #: The turn is granted; the agent has not started.
    AFTER_BEGIN = "after-begin"
    #: The agent is running, and its lease is being renewed.
    SPEAKING = "speaking"
    #: The agent has finished; nothing is written.
    BEFORE_COMMIT = "before-commit"
    #: The turn is written, and the next one planned with it; no message was sent yet.
    AFTER_COMMIT = "after-commit"
    #: The next messages are in the queue; the message of this turn is still unacknowledged.
    BEFORE_ACK = "before-ack"


#: Called with the boundary, the session's id and the turn's number, from the thread that runs the turn.
FaultHook = Callable[[Boundary, str, int], None]


def no_fault_hook(_boundary: Boundary, _session_id: str, _number: int) -> None:
    """Do nothing: the hook of production."""
