"""The protocol's mode selection guide.

Source: Collab module, section 3.2.
"""

from __future__ import annotations

from ..errors import InvalidInput
from .collab import CollabMode


def recommend_mode(
    participants: int, *, central_control: bool = False, independent: bool = False, sequential: bool = False
) -> CollabMode:
    """Return the mode the guide recommends for this number of participants.

    Two are a pair. For more, the first that applies decides: central control, independent
    work, a fixed sequence; else broadcast. The guide does not speak of one alone; it is
    answered like more than two.

    Raises:
        InvalidInput: fewer than one participant.
    """
    if participants < 1:
        raise InvalidInput("participants", participants, "must be at least 1")
    if participants == 2:
        return CollabMode.PAIR
    if central_control:
        return CollabMode.ORCHESTRATED
    if independent:
        return CollabMode.SWARM
    return CollabMode.ROUND_ROBIN if sequential else CollabMode.BROADCAST
