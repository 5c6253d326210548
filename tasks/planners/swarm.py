"""Swarm: whoever is free takes the oldest item on the board that is for them.

Items are worked on side by side, one turn each. A turn may add items, or hand its own to
another role or participant. The session ends when the board is empty and nobody is at work.
A swarm has no rounds.

Source: Collab module, section 3.1.
"""

from __future__ import annotations

from pydantic import Field

from ...models.plan import BoardEntry, Finish, Plan, PlannedTurn, SessionView, Step, Wait
from ...models.stop import MaxTurns, StopCondition
from ...models.turn import Frozen, NewItem
from .board import Board, BoardState, Entry

#: Far beyond what the board's own limits allow with the default options.
DEFAULT_STOP: StopCondition = MaxTurns(10_000)


class _Memory(Frozen):
    board: BoardState = BoardState()
    seeded: bool = False
    #: Participant id -> how many items anyone had claimed when they claimed their last one.
    worked: dict[str, int] = Field(default_factory=dict)
    claims: int = 0


def plan(view: SessionView) -> Plan:
    """Settles what was done, then lets the free participants claim, those first who were idle longest."""
    memory = _Memory.model_validate(view.state)
    board = _settled(view, memory)
    claimed = _claim(view, board, memory)
    board.drop_orphans()
    if board.is_empty and not view.open:
        return _finish(board)
    if not claimed and not board.changes:
        return Wait()
    count = memory.claims
    worked = {who: count + i for i, who in enumerate(claimed, start=1)}
    remembered = _Memory(
        board=board.state, seeded=True, worked={**memory.worked, **worked}, claims=count + len(claimed)
    )
    return Step(
        turns=tuple(_turn(who, entry) for who, entry in claimed.items()),
        state=remembered.model_dump(mode="json", exclude_defaults=True),
        board=board.changes,
    )


def board_at_end(view: SessionView, why: str) -> tuple[BoardEntry, ...]:
    """How the board looks when something else than the board ends the session."""
    board = _settled(view, _Memory.model_validate(view.state))
    board.drop_all(f"the session ended: {why}")
    return board.changes


def _settled(view: SessionView, memory: _Memory) -> Board:
    """The board after the turns that have just closed, before anybody claims."""
    seeds = view.options.items or (NewItem(text=view.purpose[:8_000]),)
    board = Board(memory.board, roster=view.roster, options=view.options, seeds=seeds)
    if not memory.seeded:
        board.seed()
        for more in seeds[view.options.max_items :]:
            board.add(more)
    for result in view.results:
        board.settle(result)
    board.recover({turn.item.item_id for turn in view.open if turn.item})
    return board


def _claim(view: SessionView, board: Board, memory: _Memory) -> dict[str, Entry]:
    busy = {turn.participant for turn in view.open}
    free = [p for p in view.roster if p.participant_id not in busy]
    claimed: dict[str, Entry] = {}
    for participant in sorted(free, key=lambda p: memory.worked.get(p.participant_id, 0)):
        if view.turns_left is not None and len(claimed) >= view.turns_left:
            break
        if entry := board.claim(participant):
            claimed[participant.participant_id] = entry
    return claimed


def _turn(participant: str, entry: Entry) -> PlannedTurn:
    item = entry.item
    stays = f"This item was handed on {item.hand_offs} times: it stays with you now." if entry.stays else ""
    return PlannedTurn(participant=participant, scope=f"item:{item.item_id}", item=item, instruction=stays)


def _finish(board: Board) -> Finish:
    state = board.state
    detail = f"{state.done} item{'' if state.done == 1 else 's'} done" + (
        f", {state.dropped} dropped" if state.dropped else ""
    )
    return Finish(reason="board_empty", detail=detail, board=board.changes)
