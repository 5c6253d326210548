"""The board of a swarm: its work items, and the rules for claims, hand-offs, links and ends.

An item is open or claimed, and at the end done or dropped, once. Only items that a participant can take are
stored, and those that agents have added; the end of an item is reported in the step in which it happened.
Initial items become entries in order, when a participant is free for them. Until then the state has only
their number, or, if they wait for others, ranges of numbers, so a step costs the same on a long board as on a
short one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from typing import Any

from ..protocol.collab import Participant, find_participant_or_role, role_of
from ..sessions.options import ItemLinks, ModeOptions, link_faults
from ..sessions.plan import BoardEntry
from ..turns.items import NewItem, WorkItem
from ..turns.turn import TurnResult
from .board_state import BoardItem, BoardState, add, contains, numbers_in, remove

#: Maximum number of times an item is put back because its participant passed or was skipped.
MAX_SKIPS = 3


class Board:
    """A board during the planning of one step; `changes` is the part that the step reports."""

    def __init__(
        self,
        state: BoardState,
        *,
        roster: Sequence[Participant],
        options: ModeOptions,
        seeds: Sequence[NewItem] = (),
        links: ItemLinks | None = None,
    ) -> None:
        self._seeds = seeds[: options.max_items]
        self._links = ItemLinks.of(seeds) if links is None else links
        self._state = state
        self._roster = roster
        self._options = options
        self._entries = {self._number(entry.item.item_id): entry for entry in state.entries}
        self._changes: dict[int, BoardEntry] = {}

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
        # An item that waits does so for one that is an entry, ready or not drawn: links form no cycle.
        return not self._entries and not self._state.ready and self._state.drawn == len(self._seeds)

    @property
    def is_linked(self) -> bool:
        """Return whether an item waits, or has waited, for another."""
        return self._state.linked or bool(self._links.after)

    def seed(self) -> None:
        """Report the initial items as changes."""
        count = len(self._seeds)
        self._count(numbered=count, taken=count)
        for number, new in enumerate(self._seeds, start=1):
            self._show(number, self._new(number, new))

    def add_items(self, items: Sequence[NewItem]) -> None:
        """Add items of one turn; one with a wrong id or link, or beyond `max_items`, is dropped and reported so."""
        first = self._state.numbered + 1
        faults: dict[int, str] = {}
        if any(item.id or item.after for item in items):
            for index, field, rule in link_faults(items, first=first, is_known=self._knows):
                faults.setdefault(index, f"{field}: {rule}")
            names = {
                item.id: first + index
                for index, item in enumerate(items)
                if item.id and not faults.get(index, "").startswith("id")
            }
            linked = self._state.linked or any(item.after for item in items)
            names = {**self._state.names, **names}
            self._state = self._state.model_copy(update={"names": names, "linked": linked})
        for index, new in enumerate(items):
            self.add_item(new, fault=faults.get(index, ""))

    def add_item(self, new: NewItem, *, fault: str = "") -> None:
        """Add one item; with a fault, or beyond `max_items`, it is dropped and reported so."""
        number = self._state.numbered + 1
        entry = self._new(number, new)
        if fault.startswith("id"):  # the id belongs to another item
            entry = entry.model_copy(update={"item": entry.item.model_copy(update={"item_id": str(number)})})
        full = self._state.taken >= self._options.max_items
        self._count(numbered=1, taken=0 if full or fault else 1)
        self._put(number, entry)
        lost = next((name for name in new.after if self._status(self._number(name)) == "dropped"), None)
        if fault or full:
            self._drop(number, fault or f"the board is full ({self._options.max_items} items)")
        elif lost is not None:
            self._drop(number, _dropped_before(lost))

    def apply_turn(self, result: TurnResult) -> None:
        """Apply a closed turn to its item, and add the items that the turn adds."""
        self.add_items(result.items)
        number = self._number(result.item.item_id) if result.item else 0
        entry = self._entries.get(number)
        if entry is None or entry.claimed_by != result.participant:
            return
        if result.hand_off:
            self._hand_off(number, entry, result.participant, result.hand_off)
        elif result.is_silent:
            self._put_back(number, entry, declined=result.participant, why=result.error or "passed")
        else:
            self._close(number, status="done", participant=result.participant, turn_number=result.number)

    def put_back_abandoned(self, in_work: set[str]) -> None:
        """Put back claimed items without an open turn, because no turn would ever close them."""
        for number, entry in list(self._entries.items()):
            if entry.claimed_by and entry.item.item_id not in in_work:
                self._put_back(number, entry, declined=None, why="its turn was removed")

    def drop_orphans(self) -> None:
        """Drop open items that no participant may take."""
        for number, entry in list(self._entries.items()):
            still_open = number in self._entries and entry.claimed_by is None
            if still_open and not any(map(entry.may_go_to, self._roster)):
                is_role_known = entry.item.role is None or find_participant_or_role(
                    entry.item.role, self._roster
                )
                why = (
                    "every eligible participant passed on it"
                    if is_role_known
                    else f"no participant has role {entry.item.role!r}"
                )
                self._drop(number, why)

    def drop_all(self, why: str) -> None:
        """Drop the remaining items at the end of the session."""
        passed_over = {*numbers_in(self._state.waiting), *numbers_in(self._state.ready)}
        undrawn = range(self._state.drawn + 1, len(self._seeds) + 1)
        for number in sorted({*self._entries, *passed_over, *undrawn}):
            if not contains(self._state.lost, number):
                self._end_dropped(number, why)

    def claim_item(self, participant: Participant) -> BoardItem | None:
        """Claim and return the oldest open item that this participant may take."""
        for number, entry in self._oldest_first():
            if entry.claimed_by is None and entry.may_go_to(participant):
                return self._put(number, entry.model_copy(update={"claimed_by": participant.participant_id}))
        return None

    def _oldest_first(self) -> Iterator[tuple[int, BoardItem]]:
        """Yield the items that wait for no other; draw the initial ones one by one as they are needed."""
        numbers, count = sorted(self._entries), len(self._seeds)
        drawn = (number for number in numbers if number <= count)
        for number in merge(drawn, numbers_in(self._state.ready)):
            yield number, self._entries.get(number) or self._draw(number)
        while (number := self._state.drawn + 1) <= count:
            self._count(drawn=1)
            if self._waits(self._links.after.get(number, ())):
                self._change(waiting=add(self._state.waiting, number))
            elif not contains(self._state.lost, number):
                yield number, self._draw(number)
        for number in numbers:
            after = self._entries[number].item.after if number > count else ()
            if number > count and not self._waits(map(self._number, after)):
                yield number, self._entries[number]

    def _draw(self, number: int) -> BoardItem:
        self._change(ready=remove(self._state.ready, number))
        return self._put(number, self._new(number, self._seeds[number - 1]))

    def _new(self, number: int, new: NewItem) -> BoardItem:
        role = new.role and (find_participant_or_role(new.role, self._roster) or new.role)
        item = WorkItem(
            item_id=new.id or str(number), text=new.text, role=role, data=new.data, after=new.after
        )
        return BoardItem(item=item)

    # -- ids and links ----------------------------------------------------------------------

    def _number(self, item_id: str) -> int:
        """Return the number of an item; 0 for an unknown id."""
        number = self._links.numbers.get(item_id) or self._state.names.get(item_id)
        if number is None and item_id.isascii() and item_id.isdigit():
            number = int(item_id)
            number = number if len(self._seeds) < number <= self._state.numbered else 0
            number = 0 if number in self._state.names.values() else number
        return number or 0

    def _knows(self, item_id: str) -> bool:
        return self._number(item_id) > 0

    def _status(self, number: int) -> str:
        """Return `open`, `done` or `dropped`."""
        state = self._state
        if contains(state.lost, number):
            return "dropped"
        is_passed_over = contains(state.waiting, number) or contains(state.ready, number)
        is_undrawn = state.drawn < number <= len(self._seeds)
        is_open = number in self._entries or is_passed_over or is_undrawn or number > state.numbered
        return "open" if is_open else "done"

    def _waits(self, numbers: Iterable[int]) -> bool:
        return any(self._status(number) == "open" for number in numbers)

    def _dependants(self, number: int) -> Iterator[int]:
        """Yield the items that wait for an item, and perhaps for others."""
        yield from self._links.dependants.get(number, ())
        for other, entry in list(self._entries.items()):
            if other > len(self._seeds) and number in map(self._number, entry.item.after):
                yield other

    # -- changes ----------------------------------------------------------------------------

    def _hand_off(self, number: int, entry: BoardItem, giver: str, target: str) -> None:
        if entry.stays:
            self._drop(number, f"handed off again after the limit of {entry.item.hand_offs} hand-offs")
            return
        seat = find_participant_or_role(target, self._roster)
        pair = " <> ".join(sorted((self._role(giver), self._role(seat or target))))
        passages = entry.passages.get(pair, 0) + 1
        too_often = entry.item.hand_offs >= self._options.max_hand_offs
        if too_often or passages > max(1, 2 * self._options.max_ping_pong):
            item = entry.item.model_copy(update={"role": giver})
            self._put(number, entry.model_copy(update={"item": item, "claimed_by": None, "stays": True}))
            return
        changes = {
            "item": entry.item.model_copy(update={"role": seat, "hand_offs": entry.item.hand_offs + 1}),
            "claimed_by": None,
            # A known participant gets the item even after declining it. Without one, any other participant
            # may.
            "declined": () if seat else (*entry.declined, giver),
            "passages": {**entry.passages, pair: passages},
        }
        self._put(number, entry.model_copy(update=changes))

    def _put_back(self, number: int, entry: BoardItem, *, declined: str | None, why: str) -> None:
        skips = entry.skips + 1
        if entry.stays or skips >= MAX_SKIPS:
            self._drop(number, f"put back {skips} times, last reason: {why}")
            return
        who = (*entry.declined, declined) if declined else entry.declined
        self._put(number, entry.model_copy(update={"claimed_by": None, "declined": who, "skips": skips}))

    def _role(self, seat: str) -> str:
        """Return the role of a participant; any other name is a role already."""
        return next((role_of(p) for p in self._roster if p.participant_id == seat), seat)

    def _put(self, number: int, entry: BoardItem) -> BoardItem:
        self._entries[number] = entry
        self._show(number, entry)
        return entry

    def _show(self, number: int, entry: BoardItem) -> None:
        status = "claimed" if entry.claimed_by else "open"
        self._report(number, entry.item, status=status, participant=entry.claimed_by)

    def _report(self, number: int, item: WorkItem, **shown: Any) -> None:
        other = None if item.item_id == str(number) else number
        self._changes[number] = BoardEntry(item=item, number=other, **shown)

    def _drop(self, number: int, why: str) -> None:
        """Drop an item, and all items that wait for it."""
        dropped = [(number, why)]
        for at, reason in dropped:  # grows while it is read
            if contains(self._state.lost, at):
                continue
            dependants = list(self._dependants(at))
            reason_of_dependants = _dropped_before(self._end_dropped(at, reason))
            dropped += [(other, reason_of_dependants) for other in dependants]

    def _end_dropped(self, number: int, why: str) -> str:
        """Drop one item; return its id."""
        entry = self._entries.pop(number, None)
        item = entry.item if entry else self._new(number, self._seeds[number - 1]).item
        self._report(
            number, item, status="dropped", participant=entry.claimed_by if entry else None, reason=why
        )
        self._change(
            lost=add(self._state.lost, number),
            waiting=remove(self._state.waiting, number),
            ready=remove(self._state.ready, number),
        )
        self._count(dropped=1)
        return item.item_id

    def _close(self, number: int, **shown: Any) -> None:
        """Report an item as done; initial items that waited for it and no other are ready."""
        self._report(number, self._entries.pop(number).item, **shown)
        self._count(done=1)
        for other in self._links.dependants.get(number, ()):
            if contains(self._state.waiting, other) and not self._waits(self._links.after[other]):
                self._change(waiting=remove(self._state.waiting, other), ready=add(self._state.ready, other))

    def _count(self, **more: int) -> None:
        counts = {name: getattr(self._state, name) + number for name, number in more.items()}
        self._change(**counts)

    def _change(self, **fields: Any) -> None:
        self._state = self._state.model_copy(update=fields)


def _dropped_before(item_id: str) -> str:
    return f"item {item_id} was dropped"
