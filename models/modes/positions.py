"""Positions of turns in the modes. Pure.

A position is computed from the state of the planner, the open turns and the messages that the turn gets, so it costs
the same in a long dialog as in a short one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from ..protocol.collab import Participant
from ..protocol.dialog import Message, Role
from ..sessions.options import ModeOptions
from ..sessions.plan import PlannedTurn
from ..text.redact import excerpt
from ..turns.position import TurnPosition
from ..turns.turn import Expects, RemainingBudget

#: Maximum number of opening messages that are part of the task; further ones are part of the dialog.
MAX_OPENING = 20
#: Maximum number of items of a board, and of characters of each.
MAX_OPEN_ITEMS = 20
MAX_ITEM_TEXT = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionFacts:
    """What the position of a turn is computed from."""

    turn: PlannedTurn
    number: int
    roster: Sequence[Participant]
    options: ModeOptions
    orchestrator: str | None = None
    #: State of the planner after it planned the turn.
    state: Mapping[str, JsonValue]
    #: Messages of the turn, oldest first.
    messages: Sequence[Message] = ()
    #: True: the messages begin with the first one of the session.
    is_whole: bool = True
    #: Other turns of the same step: participants by turn number.
    beside: Mapping[int, str]
    #: True: the newest messages of the history count as those of this session.
    is_fork: bool = False

    @property
    def me(self) -> str:
        """Participant of the turn."""
        return self.turn.participant

    def ids(self) -> tuple[str, ...]:
        """Return participant ids in roster order."""
        return tuple(p.participant_id for p in self.roster)

    def authors(self) -> dict[int, str]:
        """Return the turns with messages, in order: number -> participant."""
        authors: dict[int, str] = {}
        for message in self.messages:
            data = message.turn_data
            number, speaker = data.get("turn_number"), data.get("participant_id")
            if number is None and self.is_fork:
                number, speaker = _former_turn(message)
            if isinstance(number, int) and isinstance(speaker, str) and number < self.number:
                authors[number] = speaker
        return authors


def _former_turn(message: Message) -> tuple[int | None, str | None]:
    number = message.history.get("turn_number")
    return number if isinstance(number, int) else None, message.former_speaker


def opening_of(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return the messages of users and the notes at the beginning of a dialog, before its first turn."""
    opening: list[Message] = []
    for message in messages:
        if message.author is not None or message.role not in (Role.USER, Role.SYSTEM):
            break
        opening.append(message)
        if len(opening) == MAX_OPENING:
            break
    return tuple(opening)


def base_position(facts: PositionFacts) -> TurnPosition:
    """Return the position in a mode without roles: what others ask, and who speaks at the same time."""
    beside = tuple(facts.beside.values()) if facts.turn.snapshot else ()
    return TurnPosition(instruction=facts.turn.instruction, beside=beside, is_whole=facts.is_whole)


def orchestrated_position(facts: PositionFacts) -> TurnPosition:
    """Return the position of a turn that an orchestrator leads: its members build on the newest decision."""
    position = base_position(facts).model_copy(update={"orchestrator": facts.orchestrator})
    if facts.turn.expects is Expects.DECISION:
        return position.model_copy(update={"instruction": ""})
    decisions = [number for number, author in facts.authors().items() if author == facts.orchestrator]
    return position.model_copy(update={"builds_on": tuple(decisions[-1:])})


def pair_position(facts: PositionFacts) -> TurnPosition:
    """Return the position of the driver, who follows a review, or of the navigator, who reviews the newest work."""
    ids = facts.ids()
    position = base_position(facts)
    if len(ids) != 2:
        return position
    driver = ids[1 if facts.state.get("swapped") else 0]
    other = ids[1 - ids.index(facts.me)]
    turns = [number for number, author in facts.authors().items() if author == other]
    is_newest = turns[-1:] == [facts.number - 1]
    is_missing = facts.number > 1 and not is_newest
    return position.model_copy(
        update={
            "driver": driver,
            "builds_on": tuple(turns[-1:]) if is_newest or facts.me != driver else (),
            "missing": (other,) if is_missing else (),
            "handed_off": bool(facts.state.get("handed_off")),
        }
    )


def broadcast_position(facts: PositionFacts) -> TurnPosition:
    """Return the position in a round of answers; the answers of one round have consecutive turn numbers."""
    ids = facts.ids()
    sender, aggregator = facts.options.broadcaster_among(facts.roster), facts.options.aggregator
    answering = [name for name in ids if name not in (aggregator, sender)] or list(ids)
    position = base_position(facts).model_copy(
        update={"broadcaster": sender, "aggregator": aggregator if aggregator in ids else None}
    )
    if facts.turn.broadcast:
        first = facts.number - answering.index(facts.me) if facts.me in answering else facts.number
        end = first - bool(sender) - bool(aggregator)
    elif facts.me == sender:
        end = facts.number - bool(aggregator)
    else:
        end = facts.number
    authors = facts.authors()
    first = end - len(answering)
    if first < 1 or (facts.turn.output and facts.me != aggregator):
        return position.model_copy(update={"instruction": _own_instruction(facts)})
    others = {*ids} - {facts.me}
    builds_on = tuple(number for number in range(first, end) if authors.get(number) in others)
    is_seen = facts.is_whole or min(authors, default=end) <= first
    missing = tuple(name for number, name in enumerate(answering, first) if is_seen and number not in authors)
    return position.model_copy(
        update={"builds_on": builds_on, "missing": missing, "instruction": _own_instruction(facts)}
    )


def _own_instruction(facts: PositionFacts) -> str:
    """Return the instruction if it is that of a turn outside the rounds: the planner's texts are those of the mode."""
    planned = facts.turn
    is_of_mode = planned.broadcast or facts.me == facts.options.aggregator or not planned.output
    return "" if is_of_mode else planned.instruction


def swarm_position(facts: PositionFacts) -> TurnPosition:
    """Return the position of a worker with its item, or of the reducer."""
    turn, board = facts.turn, facts.state.get("board")
    board = board if isinstance(board, dict) else {}
    own = None if turn.item is None else turn.item.item_id
    entries = board.get("entries")
    items = (
        [entry.get("item") for entry in entries if isinstance(entry, dict)]
        if isinstance(entries, list)
        else []
    )
    texts = [
        excerpt(str(item.get("text", "")), MAX_ITEM_TEXT)
        for item in items
        if isinstance(item, dict) and item.get("item_id") != own
    ]
    is_of_mode = turn.reduces or turn.item is not None
    return base_position(facts).model_copy(
        update={
            "reducer": facts.options.reducer if facts.options.reducer in facts.ids() else None,
            "item_stays": turn.item is not None and bool(turn.instruction),
            "open_items": tuple(texts[:MAX_OPEN_ITEMS]),
            "done": _count(board.get("done")),
            "dropped": _count(board.get("dropped")),
            "instruction": "" if is_of_mode else turn.instruction,
        }
    )


def _count(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def limited_position(
    position: TurnPosition,
    left: RemainingBudget,
    *,
    rounds: int | None,
    rounds_max: int | None,
    is_alone: bool,
    ends_round: bool,
    decides: bool,
) -> TurnPosition:
    """Return a position with its round, and whether no turn follows.

    Args:
        position: The position in its mode.
        left: What is left of the limits of the session.
        rounds: Number of completed rounds; None: the mode has no rounds.
        rounds_max: Number of rounds after which the session ends.
        is_alone: Whether no other turn is open.
        ends_round: Whether a round ends with the turn.
        decides: Whether it is the turn of an orchestrator, after which another one must follow.
    """
    is_last_round = left.rounds is not None and left.rounds <= 1
    least = 2 if decides else 1
    is_last = is_alone and (
        (is_last_round and (ends_round or decides)) or (left.turns is not None and left.turns <= least)
    )
    changes: dict[str, object] = {"is_last": is_last}
    if rounds is not None:
        changes |= {"round": rounds + 1, "rounds_max": rounds_max}
    return position.model_copy(update=changes)
