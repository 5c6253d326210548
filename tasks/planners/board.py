"""The board of a swarm: work items and the rules by which they change hands.

An item is open or claimed, and in the end done or dropped, once. Only what is open or claimed
is kept; what became of the others is told in the step in which it happened. Items that were
there at the start are drawn in order when somebody is free for them: until then all that is
kept of them is how many are drawn, so a step costs the same on a long board as on a short one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field

from ...models.collab import Participant
from ...models.options import ModeOptions
from ...models.plan import BoardEntry
from ...models.roster import role_of, seat_named
from ...models.turn import Frozen, NewItem, TurnResult, WorkItem

#: Times an item is put back because whoever had it passed or was skipped.
MAX_SKIPS = 3


class Entry(Frozen):
    """An item on the board."""

    item: WorkItem
    claimed_by: str | None = None
    #: Participants who had it and did nothing with it; they do not get it again.
    declined: tuple[str, ...] = ()
    skips: int = 0
    #: Hand-offs between two roles, by the names of both.
    passages: dict[str, int] = Field(default_factory=dict)
    #: It was handed on too often: whoever has it does it, or it is dropped.
    stays: bool = False

    def may_go_to(self, participant: Participant) -> bool:
        """Eligible: of the item's role, and has not declined it."""
        wanted = (None, participant.participant_id, participant.role_id)
        return self.item.role in wanted and participant.participant_id not in self.declined


class BoardState(Frozen):
    """What is remembered of a board between two steps."""

    entries: tuple[Entry, ...] = ()
    #: How many of the items there at the start have become entries.
    drawn: int = 0
    #: Items ever put up, refused ones included: the source of item ids.
    numbered: int = 0
    #: Items ever accepted.
    taken: int = 0
    done: int = 0
    dropped: int = 0


class Board:
    """A board while one step is planned; `changes` is what the step shows of it."""

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
        """What to remember."""
        return self._state.model_copy(update={"entries": tuple(self._entries.values())})

    @property
    def changes(self) -> tuple[BoardEntry, ...]:
        """The items that changed, in the order of their first change."""
        return tuple(self._changes.values())

    @property
    def is_empty(self) -> bool:
        """Nothing is open or claimed."""
        return not self._entries and self._state.drawn == len(self._seeds)

    def seed(self) -> None:
        """Shows the items that are there at the start."""
        count = len(self._seeds)
        self._count(numbered=count, taken=count)
        for number, new in enumerate(self._seeds, start=1):
            self._show(self._new(number, new))

    def add(self, new: NewItem) -> None:
        """Puts up an item; beyond `max_items` it is dropped and shown as such."""
        entry = self._new(self._state.numbered + 1, new)
        full = self._state.taken >= self._options.max_items
        self._count(numbered=1, taken=0 if full else 1)
        self._put(entry)
        if full:
            self._drop(entry, f"the board takes {self._options.max_items} items")

    def settle(self, result: TurnResult) -> None:
        """Applies a closed turn to the item it was about, and puts up the items it adds."""
        for new in result.items:
            self.add(new)
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

    def recover(self, in_work: set[str]) -> None:
        """Puts back claimed items that no turn is about any more: nobody would ever close them."""
        for entry in list(self._entries.values()):
            if entry.claimed_by and entry.item.item_id not in in_work:
                self._put_back(entry, declined=None, why="its turn was taken out")

    def drop_orphans(self) -> None:
        """Drops open items that nobody may take."""
        for entry in list(self._entries.values()):
            if entry.claimed_by is None and not any(map(entry.may_go_to, self._roster)):
                known = entry.item.role is None or seat_named(entry.item.role, self._roster)
                why = "everyone who may take it passed on it" if known else f"nobody is {entry.item.role!r}"
                self._drop(entry, why)

    def drop_all(self, why: str) -> None:
        """Drops what is left, when the session ends."""
        for entry in list(self._oldest_first()):
            self._drop(entry, why)

    def claim(self, participant: Participant) -> Entry | None:
        """The oldest open item that this participant may take, now claimed."""
        for entry in self._oldest_first():
            if entry.claimed_by is None and entry.may_go_to(participant):
                return self._put(entry.model_copy(update={"claimed_by": participant.participant_id}))
        return None

    def _oldest_first(self) -> Iterator[Entry]:
        """All entries, drawing what was there at the start as it is asked for."""
        entries = sorted(self._entries.values(), key=lambda entry: int(entry.item.item_id))
        yield from (entry for entry in entries if int(entry.item.item_id) <= len(self._seeds))
        while (drawn := self._state.drawn) < len(self._seeds):
            self._count(drawn=1)
            yield self._put(self._new(drawn + 1, self._seeds[drawn]))
        yield from (entry for entry in entries if int(entry.item.item_id) > len(self._seeds))

    def _new(self, number: int, new: NewItem) -> Entry:
        role = new.role and (seat_named(new.role, self._roster) or new.role)
        return Entry(item=WorkItem(item_id=str(number), text=new.text, role=role))

    def _hand_off(self, entry: Entry, giver: str, target: str) -> None:
        if entry.stays:
            self._drop(entry, f"handed on {entry.item.hand_offs} times, and once more")
            return
        seat = seat_named(target, self._roster)
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
            # To a known seat: even one that declined it before. To an unknown one: to anyone else.
            "declined": () if seat else (*entry.declined, giver),
            "passages": {**entry.passages, pair: passages},
        }
        self._put(entry.model_copy(update=changes))

    def _put_back(self, entry: Entry, *, declined: str | None, why: str) -> None:
        skips = entry.skips + 1
        if entry.stays or skips >= MAX_SKIPS:
            self._drop(entry, f"put back {skips} times; the last one: {why}")
            return
        who = (*entry.declined, declined) if declined else entry.declined
        self._put(entry.model_copy(update={"claimed_by": None, "declined": who, "skips": skips}))

    def _role(self, seat: str) -> str:
        """The role of a participant; any other seat is a role already."""
        return next((role_of(p) for p in self._roster if p.participant_id == seat), seat)

    def _put(self, entry: Entry) -> Entry:
        self._entries[entry.item.item_id] = entry
        self._show(entry)
        return entry

    def _show(self, entry: Entry) -> None:
        status = "claimed" if entry.claimed_by else "open"
        shown = BoardEntry(item=entry.item, status=status, participant=entry.claimed_by)
        self._changes[entry.item.item_id] = shown

    def _drop(self, entry: Entry, why: str) -> None:
        self._close(entry, status="dropped", participant=entry.claimed_by, reason=why)
        self._count(dropped=1)

    def _close(self, entry: Entry, **shown: Any) -> None:
        del self._entries[entry.item.item_id]
        self._changes[entry.item.item_id] = BoardEntry(item=entry.item, **shown)

    def _count(self, **more: int) -> None:
        counts = {name: getattr(self._state, name) + number for name, number in more.items()}
        self._state = self._state.model_copy(update=counts)
