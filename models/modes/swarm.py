"""Swarm: a free participant takes the oldest item on the board that it may take.

Items are worked on in parallel, one turn each. A turn may add items, or hand its own item to
another role or participant. An item that waits for others begins when all of them are done. The session
ends when the board is empty and no turn is open; with a reducer, after one more turn, which sees the results
of all items. A swarm has no rounds.

Source: Collab module, section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from ..errors import InvalidInput
from ..protocol.collab import Collab, Participant, find_participant_or_role
from ..sessions.options import ItemLinks, ModeOptions, link_faults
from ..sessions.plan import BoardEntry, Finish, ParticipantRoles, Plan, PlannedTurn, SessionView, Step, Wait
from ..sessions.stop_conditions import MaxTurns, StopCondition
from ..text.words import count_of
from ..turns.frozen import Frozen
from ..turns.items import NewItem
from ..turns.turn import OutcomeKind
from .board import Board
from .board_state import BoardItem, BoardState
from .mode import Mode, equal_roles
from .positions import swarm_position
from .texts.common import name
from .texts.swarm import TEXTS

#: Default stop condition: more turns than the limits of the board allow with the default options.
_DEFAULT_STOP: StopCondition = MaxTurns(10_000)

_REDUCE = (
    "All items of the board are closed. Give the result of the whole work from the results of the items."
)


class _PlannerState(Frozen):
    board: BoardState = BoardState()
    seeded: bool = False
    #: Participant id -> number of items that all participants had claimed when this one claimed its last.
    worked: dict[str, int] = Field(default_factory=dict)
    claims: int = 0
    #: True: the reducer's turn is planned, and nothing follows it.
    reduced: bool = False


def plan(view: SessionView) -> Plan:
    """Apply the closed turns; then the free participants claim items, the longest idle first."""
    state = _PlannerState.model_validate(view.state)
    if state.reduced:
        return Wait() if view.open else _finish_reduced(view, state)
    board = _apply_closed_turns(view, state)
    claimed = _claim(view, board, state)
    board.drop_orphans()
    if board.is_empty and not view.open:
        return _reduce(view, board, state) if _has_reducer(view) else _finish(board)
    if not claimed and not board.changes:
        return Wait()
    count = state.claims
    worked = {who: count + i for i, who in enumerate(claimed, start=1)}
    remembered = _PlannerState(
        board=board.state, seeded=True, worked={**state.worked, **worked}, claims=count + len(claimed)
    )
    return Step(
        turns=tuple(_turn(who, entry, indexed=board.is_linked) for who, entry in claimed.items()),
        state=remembered.model_dump(mode="json", exclude_defaults=True),
        board=board.changes,
    )


def board_at_end(view: SessionView, why: str) -> tuple[BoardEntry, ...]:
    """Return the board for a session that ends for a reason other than the board."""
    board = _apply_closed_turns(view, _PlannerState.model_validate(view.state))
    board.drop_all(f"the session ended: {why}")
    return board.changes


def _apply_closed_turns(view: SessionView, state: _PlannerState) -> Board:
    """Return the board after the turns that have just closed, before any new claim."""
    seeds = view.options.items or (NewItem(text=view.purpose[:8_000]),)
    links = view.options.links if view.options.items else ItemLinks.of(seeds)
    board = Board(state.board, roster=view.roster, options=view.options, seeds=seeds, links=links)
    if not state.seeded:
        board.seed()
        for more in seeds[view.options.max_items :]:
            board.add_item(more)
    for result in view.results:
        board.apply_turn(result)
    board.put_back_abandoned({turn.item.item_id for turn in view.open if turn.item})
    return board


def _claim(view: SessionView, board: Board, state: _PlannerState) -> dict[str, BoardItem]:
    busy = {turn.participant for turn in view.open}
    free = [p for p in view.roster if p.participant_id not in busy]
    claimed: dict[str, BoardItem] = {}
    for participant in sorted(free, key=lambda p: state.worked.get(p.participant_id, 0)):
        if view.turns_left is not None and len(claimed) >= view.turns_left:
            break
        if entry := board.claim_item(participant):
            claimed[participant.participant_id] = entry
    return claimed


def _has_reducer(view: SessionView) -> bool:
    return view.options.reducer in view.ids() and view.turns_left != 0


def _reduce(view: SessionView, board: Board, state: _PlannerState) -> Step:
    """Plan the last turn, which sees the results of all items."""
    turn = PlannedTurn(participant=str(view.options.reducer), instruction=_REDUCE, reduces=True)
    remembered = state.model_copy(update={"board": board.state, "seeded": True, "reduced": True})
    return Step(
        turns=(turn,), state=remembered.model_dump(mode="json", exclude_defaults=True), board=board.changes
    )


def _finish_reduced(view: SessionView, state: _PlannerState) -> Finish:
    """Return the end after the reducer's turn; items that it adds are dropped."""
    board = _apply_closed_turns(view, state)
    board.drop_all("the board is closed")
    end = _finish(board)
    spoke = any(result.kind is OutcomeKind.MESSAGE for result in view.results)
    how = f"closed by {view.options.reducer}" if spoke else f"{view.options.reducer} gave no result"
    return end.model_copy(update={"detail": f"{end.detail}, {how}"})


def _turn(participant: str, entry: BoardItem, *, indexed: bool) -> PlannedTurn:
    item = entry.item
    stays = f"This item was handed off {item.hand_offs} times: it now stays with you." if entry.stays else ""
    return PlannedTurn(
        participant=participant,
        scope=f"item:{item.item_id}",
        item=item,
        instruction=stays,
        indexed=indexed,
    )


def _finish(board: Board) -> Finish:
    state = board.state
    detail = f"{count_of(state.done, 'item')} done" + (f", {state.dropped} dropped" if state.dropped else "")
    return Finish(reason="board_empty", detail=detail, board=board.changes)


def _check(roster: Sequence[Participant], options: ModeOptions) -> None:
    if len(options.items) > options.max_items:
        rule = f"must be at most max_items ({options.max_items})"
        raise InvalidInput("options.items", f"{len(options.items)} items", rule)
    for i, item in enumerate(options.items):
        if item.role is not None and find_participant_or_role(item.role, roster) is None:
            raise InvalidInput(
                f"options.items[{i}].role", item.role, "must be the role or id of a participant"
            )
    for index, field, rule in link_faults(options.items):
        item = options.items[index]
        value = item.id if field == "id" else ", ".join(item.after)
        raise InvalidInput(f"options.items[{index}].{field}", value, rule)
    ids = [p.participant_id for p in roster]
    if options.reducer is not None and options.reducer not in ids:
        raise InvalidInput(
            "options.reducer", options.reducer, f"must be the id of a participant: {', '.join(ids)}"
        )


def _roles(collab: Collab, options: ModeOptions) -> ParticipantRoles:
    return equal_roles(collab, options)._replace(output_by=options.reducer)


MODE = Mode(
    name="swarm",
    summary="Free participants take the oldest work item that is for them.",
    texts=TEXTS,
    ending=lambda position: (
        f"when {name(position.reducer)} has made the result" if position.reducer else "when no work is left"
    ),
    position=swarm_position,
    plan=plan,
    default_stop=_DEFAULT_STOP,
    refuses=None,
    has_rounds=False,
    check=_check,
    board_at_end=board_at_end,
    has_board=True,
    roles=_roles,
)
