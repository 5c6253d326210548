"""The board of a swarm: its work items, and the rules for claims, hand-offs and ends.

An item is open or claimed, and at the end done or dropped, once. Only open and claimed items are
stored; the end of an item is reported in the step in which it happened. Initial items become
entries in order, when a participant is free for them. Until then only their number is stored, so a step
costs the same on a long board as on a short one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field

from ...models.protocol.collab import Participant, find_participant_or_role, role_of
from ...models.sessions.options import ModeOptions
from ...models.sessions.plan import BoardEntry
from ...models.turns.turn import Frozen, NewItem, TurnResult, WorkItem

#: Maximum number of times an item is put back because its participant passed or was skipped.
MAX_SKIPS = 3


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
    #: Number of initial items that have become entries.
    drawn: int = 0
    #: Number of items ever added, refused ones included: the source of item ids.
    numbered: int = 0
    #: Number of items ever accepted.
    taken: int = 0
    done: int = 0
    dropped: int = 0


class Board:
    """A board during the planning of one step; `changes` is the part that the step reports."""

    def __init__(
        self,
        state: BoardState,
        *,
        roster: Sequence[Participant],
        options: ModeOptions,
        seeds: Sequence[NewItem] = (),
    ) -> None:
        self._entries = {entry.item.item_id: entry for entry in state.entries}
        self._seeds = seeds[: options.max_items]
        self._state = state
        self._roster = roster
        self._options = options
        self._changes: dict[str, BoardEntry] = {}

    @property
    def state(self) -> BoardState:
        """Return the state to store."""
        return self._state.model_copy(update={"entries": tuple(self._entries.values())})

    @property
    def changes(self) -> tuple[BoardEntry, ...]:
        """Return the items that changed, in the order of their first change."""
        return tuple(self._changes.values())

    @property
    def is_empty(self) -> bool:
        """Return whether no item is open or claimed."""
        return not self._entries and self._state.drawn == len(self._seeds)

    def seed(self) -> None:
        """Report the initial items as changes."""
        count = len(self._seeds)
        self._count(numbered=count, taken=count)
        for number, new in enumerate(self._seeds, start=1):
            self._show(self._new(number, new))

    def add_item(self, new: NewItem) -> None:
        """Add an item; an item beyond `max_items` is dropped, and reported as dropped."""
        entry = self._new(self._state.numbered + 1, new)
        full = self._state.taken >= self._options.max_items
        self._count(numbered=1, taken=0 if full else 1)
        self._put(entry)
        if full:
            self._drop(entry, f"the board is full ({self._options.max_items} items)")

    def apply_turn(self, result: TurnResult) -> None:
        """Apply a closed turn to its item, and add the items that the turn adds."""
        for new in result.items:
            self.add_item(new)
        entry = self._entries.get(result.item.item_id) if result.item else None
        if entry is None or entry.claimed_by != result.participant:
            return
        if result.hand_off:
            self._hand_off(entry, result.participant, result.hand_off)
        elif result.is_silent:
            self._put_back(entry, declined=result.participant, why=result.error or "passed")
        else:
            self._close(entry, status="done", participant=result.participant, turn_number=result.number)
            self._count(done=1)

    def put_back_abandoned(self, in_work: set[str]) -> None:
        """Put back claimed items without an open turn, because no turn would ever close them."""
        for entry in list(self._entries.values()):
            if entry.claimed_by and entry.item.item_id not in in_work:
                self._put_back(entry, declined=None, why="its turn was removed")

    def drop_orphans(self) -> None:
        """Drop open items that no participant may take."""
        for entry in list(self._entries.values()):
            if entry.claimed_by is None and not any(map(entry.may_go_to, self._roster)):
                known = entry.item.role is None or find_participant_or_role(entry.item.role, self._roster)
                why = (
                    "every eligible participant passed on it"
                    if known
                    else f"no participant has role {entry.item.role!r}"
                )
                self._drop(entry, why)

    def drop_all(self, why: str) -> None:
        """Drop the remaining items at the end of the session."""
        for entry in list(self._oldest_first()):
            self._drop(entry, why)

    def claim_item(self, participant: Participant) -> BoardItem | None:
        """Claim and return the oldest open item that this participant may take."""
        for entry in self._oldest_first():
            if entry.claimed_by is None and entry.may_go_to(participant):
                return self._put(entry.model_copy(update={"claimed_by": participant.participant_id}))
        return None

    def _oldest_first(self) -> Iterator[BoardItem]:
        """Yield all entries; draw the initial items one by one as they are needed."""
        entries = sorted(self._entries.values(), key=lambda entry: int(entry.item.item_id))
        yield from (entry for entry in entries if int(entry.item.item_id) <= len(self._seeds))
        while (drawn := self._state.drawn) < len(self._seeds):
            self._count(drawn=1)
            yield self._put(self._new(drawn + 1, self._seeds[drawn]))
        yield from (entry for entry in entries if int(entry.item.item_id) > len(self._seeds))

    def _new(self, number: int, new: NewItem) -> BoardItem:
        role = new.role and (find_participant_or_role(new.role, self._roster) or new.role)
        return BoardItem(item=WorkItem(item_id=str(number), text=new.text, role=role))

    def _hand_off(self, entry: BoardItem, giver: str, target: str) -> None:
        if entry.stays:
            self._drop(entry, f"handed off again after the limit of {entry.item.hand_offs} hand-offs")
            return
        seat = find_participant_or_role(target, self._roster)
        pair = " <> ".join(sorted((self._role(giver), self._role(seat or target))))
        passages = entry.passages.get(pair, 0) + 1
        too_often = entry.item.hand_offs >= self._options.max_hand_offs
        if too_often or passages > max(1, 2 * self._options.max_ping_pong):
            item = entry.item.model_copy(update={"role": giver})
            self._put(entry.model_copy(update={"item": item, "claimed_by": None, "stays": True}))
            return
        changes = {
            "item": entry.item.model_copy(update={"role": seat, "hand_offs": entry.item.hand_offs + 1}),
            "claimed_by": None,
            # A known participant gets the item even after declining it. Without one, any other participant
            # may.
            "declined": () if seat else (*entry.declined, giver),
            "passages": {**entry.passages, pair: passages},
        }
        self._put(entry.model_copy(update=changes))

    def _put_back(self, entry: BoardItem, *, declined: str | None, why: str) -> None:
        skips = entry.skips + 1
        if entry.stays or skips >= MAX_SKIPS:
            self._drop(entry, f"put back {skips} times, last reason: {why}")
            return
        who = (*entry.declined, declined) if declined else entry.declined
        self._put(entry.model_copy(update={"claimed_by": None, "declined": who, "skips": skips}))

    def _role(self, seat: str) -> str:
        """Return the role of a participant; any other name is a role already."""
        return next((role_of(p) for p in self._roster if p.participant_id == seat), seat)

    def _put(self, entry: BoardItem) -> BoardItem:
        self._entries[entry.item.item_id] = entry
        self._show(entry)
        return entry

    def _show(self, entry: BoardItem) -> None:
        status = "claimed" if entry.claimed_by else "open"
        shown = BoardEntry(item=entry.item, status=status, participant=entry.claimed_by)
        self._changes[entry.item.item_id] = shown

    def _drop(self, entry: BoardItem, why: str) -> None:
        self._close(entry, status="dropped", participant=entry.claimed_by, reason=why)
        self._count(dropped=1)

    def _close(self, entry: BoardItem, **shown: Any) -> None:
        del self._entries[entry.item.item_id]
        self._changes[entry.item.item_id] = BoardEntry(item=entry.item, **shown)

    def _count(self, **more: int) -> None:
        counts = {name: getattr(self._state, name) + number for name, number in more.items()}
        self._state = self._state.model_copy(update=counts)
