"""State of the board of a swarm between two steps. Sets of items are sorted ranges of their numbers. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from pydantic import Field

from ..protocol.collab import Participant
from ..turns.frozen import Frozen
from ..turns.items import WorkItem

#: Ranges `(first, last)`, in order, without overlap.
Ranges = tuple[tuple[int, int], ...]


def contains(ranges: Ranges, number: int) -> bool:
    """Return whether a number is in the set."""
    at = bisect_right(ranges, number, key=lambda span: span[0]) - 1
    return at >= 0 and number <= ranges[at][1]


def add(ranges: Ranges, number: int) -> Ranges:
    """Return the set with one more number."""
    if contains(ranges, number):
        return ranges
    at = bisect_right(ranges, number, key=lambda span: span[0])
    first, last, low, high = number, number, at, at
    if at > 0 and ranges[at - 1][1] == number - 1:
        first, low = ranges[at - 1][0], at - 1
    if at < len(ranges) and ranges[at][0] == number + 1:
        last, high = ranges[at][1], at + 1
    return (*ranges[:low], (first, last), *ranges[high:])


def remove(ranges: Ranges, number: int) -> Ranges:
    """Return the set without a number."""
    if not contains(ranges, number):
        return ranges
    at = bisect_right(ranges, number, key=lambda span: span[0]) - 1
    first, last = ranges[at]
    rest = tuple(span for span in ((first, number - 1), (number + 1, last)) if span[0] <= span[1])
    return (*ranges[:at], *rest, *ranges[at + 1 :])


def numbers_in(ranges: Ranges) -> Iterator[int]:
    """Yield the numbers of the set in order."""
    return (number for first, last in ranges for number in range(first, last + 1))


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
