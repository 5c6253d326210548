"""Swarm: a free participant takes the oldest item on the board that it may take.

Items are worked on in parallel, one turn each. A turn may add items, or hand its own item to
another role or participant. The session ends when the board is empty and no turn is open.
A swarm has no rounds.

Source: Collab module, section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from ...models.errors import InvalidInput
from ...models.protocol.collab import Participant, find_participant_or_role
from ...models.sessions.options import ModeOptions
from ...models.sessions.plan import BoardEntry, Finish, Plan, PlannedTurn, SessionView, Step, Wait
from ...models.sessions.stop_conditions import MaxTurns, StopCondition
from ...models.turns.turn import Frozen, NewItem
from .board import Board, BoardItem, BoardState
from .mode import Demo, Mode

#: Default stop condition: more turns than the limits of the board allow with the default options.
_DEFAULT_STOP: StopCondition = MaxTurns(10_000)


class _PlannerState(Frozen):
    board: BoardState = BoardState()
    seeded: bool = False
    #: Participant id -> number of items that all participants had claimed when this one claimed its last.
    worked: dict[str, int] = Field(default_factory=dict)
    claims: int = 0


def plan(view: SessionView) -> Plan:
    """Apply the closed turns; then the free participants claim items, the longest idle first."""
    memory = _PlannerState.model_validate(view.state)
    board = _apply_closed_turns(view, memory)
    claimed = _claim(view, board, memory)
    board.drop_orphans()
    if board.is_empty and not view.open:
        return _finish(board)
    if not claimed and not board.changes:
        return Wait()
    count = memory.claims
    worked = {who: count + i for i, who in enumerate(claimed, start=1)}
    remembered = _PlannerState(
        board=board.state, seeded=True, worked={**memory.worked, **worked}, claims=count + len(claimed)
    )
    return Step(
        turns=tuple(_turn(who, entry) for who, entry in claimed.items()),
        state=remembered.model_dump(mode="json", exclude_defaults=True),
        board=board.changes,
    )


def board_at_end(view: SessionView, why: str) -> tuple[BoardEntry, ...]:
    """Return the board for a session that ends for a reason other than the board."""
    board = _apply_closed_turns(view, _PlannerState.model_validate(view.state))
    board.drop_all(f"the session ended: {why}")
    return board.changes


def _apply_closed_turns(view: SessionView, memory: _PlannerState) -> Board:
    """Return the board after the turns that have just closed, before any new claim."""
    seeds = view.options.items or (NewItem(text=view.purpose[:8_000]),)
    board = Board(memory.board, roster=view.roster, options=view.options, seeds=seeds)
    if not memory.seeded:
        board.seed()
        for more in seeds[view.options.max_items :]:
            board.add_item(more)
    for result in view.results:
        board.apply_turn(result)
    board.put_back_abandoned({turn.item.item_id for turn in view.open if turn.item})
    return board


def _claim(view: SessionView, board: Board, memory: _PlannerState) -> dict[str, BoardItem]:
    busy = {turn.participant for turn in view.open}
    free = [p for p in view.roster if p.participant_id not in busy]
    claimed: dict[str, BoardItem] = {}
    for participant in sorted(free, key=lambda p: memory.worked.get(p.participant_id, 0)):
        if view.turns_left is not None and len(claimed) >= view.turns_left:
            break
        if entry := board.claim_item(participant):
            claimed[participant.participant_id] = entry
    return claimed


def _turn(participant: str, entry: BoardItem) -> PlannedTurn:
    item = entry.item
    stays = f"This item was handed off {item.hand_offs} times: it now stays with you." if entry.stays else ""
    return PlannedTurn(participant=participant, scope=f"item:{item.item_id}", item=item, instruction=stays)


def _finish(board: Board) -> Finish:
    state = board.state
    detail = f"{state.done} item{'' if state.done == 1 else 's'} done" + (
        f", {state.dropped} dropped" if state.dropped else ""
    )
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


MODE = Mode(
    name="swarm",
    summary="Free participants take the oldest work item that is for them.",
    prompt="You take work items from a shared board, one at a time.",
    plan=plan,
    default_stop=_DEFAULT_STOP,
    refuses=None,
    has_rounds=False,
    check=_check,
    board_at_end=board_at_end,
    demo=Demo(
        title="Opening day",
        purpose="Get the library ready for its opening.",
        replies={
            "ada": ("{item}: done, and the cat is on the list.",),
            "ben": (
                {
                    "say": "{item}: done, around a courtyard.",
                    "items": [{"text": "Name the courtyard", "role": "poet"}],
                },
            ),
            "cleo": ("{item}: done, without a rhyme.",),
        },
        options={
            "items": [
                {"text": "Draw the ground floor", "role": "architect"},
                {"text": "Choose the first books", "role": "librarian"},
                {"text": "Invite the neighbours"},
            ]
        },
    ),
)
