"""Work items of a swarm with their results, as users read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue

from ..models.protocol.dialog import Message
from ..models.sessions.plan import BoardEntry


class ItemState(StrEnum):
    """State of a work item."""

    #: It waits for items that are not done.
    WAITING = "waiting"
    OPEN = "open"
    CLAIMED = "claimed"
    DONE = "done"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Item:
    """A work item of a swarm, with its result."""

    #: The id that was given to it, or else its number.
    id: str
    text: str
    state: ItemState
    #: Role or participant that may take it; None: anyone.
    role: str | None = None
    data: JsonValue = None
    #: Ids of the items that must be done before it begins.
    after: tuple[str, ...] = ()
    #: Participant who has it, or who closed it.
    claimant: str | None = None
    #: Number of the turn that closed it.
    turn_number: int | None = None
    #: Last message of that turn; empty: it had none, or the item is not done.
    result: str = ""
    #: Data of that message; None: it has none.
    output: JsonValue = None
    #: Why it was dropped.
    reason: str = ""
    hand_offs: int = 0

    def to_json_data(self) -> dict[str, JsonValue]:
        """Return the item as JSON data."""
        return {
            "id": self.id,
            "text": self.text,
            "state": self.state.value,
            "role": self.role,
            "data": self.data,
            "after": list(self.after),
            "claimant": self.claimant,
            "turn_number": self.turn_number,
            "result": self.result,
            "output": self.output,
            "reason": self.reason,
            "hand_offs": self.hand_offs,
        }


def items_of(board: Iterable[BoardEntry], messages: Mapping[int, Message]) -> tuple[Item, ...]:
    """Return the items of a board with the last messages of their turns, in the order of the board."""
    entries = sorted(board, key=lambda entry: entry.order)
    done = {entry.item.item_id for entry in entries if entry.status == ItemState.DONE}
    return tuple(_item(entry, done, messages.get(entry.turn_number or 0)) for entry in entries)


def _item(entry: BoardEntry, done: set[str], message: Message | None) -> Item:
    waits = entry.status == ItemState.OPEN and not done.issuperset(entry.item.after)
    return Item(
        id=entry.item.item_id,
        text=entry.item.text,
        state=ItemState.WAITING if waits else ItemState(entry.status),
        role=entry.item.role,
        data=entry.item.data,
        after=entry.item.after,
        claimant=entry.participant,
        turn_number=entry.turn_number,
        result="" if message is None else message.content,
        output=None if message is None else message.output,
        reason=entry.reason,
        hand_offs=entry.item.hand_offs,
    )
