"""Position of a turn from the state of its session. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from ...models.alignment.ledger import Ledger, TensionEntry
from ...models.modes import mode_of
from ...models.modes.positions import PositionFacts, limited_position
from ...models.modes.texts.ending import describe_ending
from ...models.protocol.dialog import Message
from ...models.sessions.plan import PlannedTurn
from ...models.turns.position import TurnPosition
from ...models.turns.turn import Expects, RemainingBudget
from ...state.redis.readers import converting_to_corrupt, read_object
from ...state.sessions.records import SessionState
from .session_views import SessionFacts


def turn_position(
    facts: SessionFacts,
    state: SessionState,
    planned: PlannedTurn,
    number: int,
    left: RemainingBudget,
    messages: Sequence[Message],
    *,
    is_whole: bool,
) -> TurnPosition:
    """Return the position of a turn.

    Args:
        facts: Settings of the session.
        state: Its state at the grant.
        planned: The turn.
        number: Its number.
        left: What is left of the limits of the session.
        messages: Messages that the turn gets.
        is_whole: Whether they begin with the first message of the session.

    Raises:
        CorruptSession: A stored record is invalid.
    """
    spec, mode = facts.spec, mode_of(facts.collab.mode)
    records = [record for record in state.records.all() if record.number != number]
    position = mode.position(
        PositionFacts(
            turn=planned,
            number=number,
            roster=facts.participants,
            options=spec.options,
            orchestrator=spec.orchestrator,
            state=read_object(state.planner, session_id=state.session_id, part="planner"),
            messages=messages,
            is_whole=is_whole,
            beside={record.number: record.participant for record in records},
            is_fork=spec.history is not None and spec.history.before_turn is not None,
        )
    )
    position = limited_position(
        position,
        left,
        rounds=state.rounds if mode.has_rounds else None,
        rounds_max=facts.limits.rounds,
        is_alone=not any(record.is_open for record in records),
        ends_round=state.ends_round,
        decides=planned.expects is Expects.DECISION,
    )
    if planned.reduces:
        position = position.model_copy(update={"is_last": True})
    ending = describe_ending(spec.stop, mode.ending(position))
    return position.model_copy(update={"ending": ending, **_alignment(facts, state)})


def _alignment(facts: SessionFacts, state: SessionState) -> dict[str, object]:
    """Return round and open tensions of an alignment session."""
    if facts.spec.protocol is None:
        return {}
    stored: JsonValue = read_object(state.stop, session_id=state.session_id, part="stop").get("ledger")
    with converting_to_corrupt(state.session_id, "stop"):
        ledger = Ledger() if stored is None else Ledger.model_validate(stored)
    return {
        "alignment_round": ledger.round,
        "tensions": tuple(_tension_line(tension, ledger) for tension in ledger.open_tensions),
    }


def _tension_line(tension: TensionEntry, ledger: Ledger) -> str:
    used = next((key for key, entry_id in ledger.local.items() if entry_id == tension.id), "")
    known_as = f" ({used.upper()})" if used else ""
    return f"{tension.id}{known_as}: {tension.label}"
