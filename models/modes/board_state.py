"""State of the board of a swarm between two steps."""

from __future__ import annotations

from pydantic import Field

from ..protocol.collab import Participant
from ..turns.frozen import Frozen
from ..turns.items import WorkItem
from .number_ranges import Ranges


class BoardItem(Frozen):
    """An item on the board."""

    item: WorkItem
    claimed_by: str | None = None
    #: Participants who had the item and did not do it, and do not get it again.
    declined: tuple[str, ...] = ()
    skips: int = 0
    #: Number of hand-offs between two roles, by the names of both roles.
    passages: dict[str, int] = Field(default_factory=dict)
    #: True after too many hand-offs: its participant does the item, or it is dropped.
    stays: bool = False

    def may_go_to(self, participant: Participant) -> bool:
        """Return whether the item has the participant's role and was not declined by it."""
        wanted = (None, participant.participant_id, participant.role_id)
        return self.item.role in wanted and participant.participant_id not in self.declined


class BoardState(Frozen):
    """State of a board between two steps."""

    entries: tuple[BoardItem, ...] = ()
    #: Number of initial items that have become entries, or were passed over because they wait.
    drawn: int = 0
    #: Number of items ever added, refused ones included: the source of item ids.
    numbered: int = 0
    #: Number of items ever accepted.
    taken: int = 0
    done: int = 0
    dropped: int = 0
    #: Initial items that were passed over, and wait for others.
    waiting: Ranges = ()
    #: Initial items that were passed over, and wait no longer.
    ready: Ranges = ()
    #: Items that were dropped.
    lost: Ranges = ()
    #: Ids that agents gave to items that they added -> number.
    names: dict[str, int] = Field(default_factory=dict)
    #: True once an agent has added an item that waits for others.
    linked: bool = False
