"""Parsing of the parts of a turn that scripts never decode: its plan, its result, its wait."""

from __future__ import annotations

from collections.abc import Container

from ...models.errors import CorruptSession, InvalidInput
from ...models.sessions.plan import PlannedTurn
from ...models.turns.turn import TurnResult
from ...models.turns.waiting import ParkedQuestion
from ...state.redis.stored import read_stored
from ...state.sessions.records import SessionState
from ...state.sessions.turn_records import TurnRecord


def decode_planned_turn(state: SessionState, record: TurnRecord, roster: Container[str]) -> PlannedTurn:
    """Return an open turn as planned, for a participant of the roster. Raises CorruptSession."""
    part = f"the plan of turn {record.number}"
    planned = read_stored(PlannedTurn, record.plan or "{}", session_id=state.session_id, part=part)
    if planned.participant != record.participant or planned.participant not in roster:
        whose = InvalidInput("participant", planned.participant, "must be the participant of this turn")
        raise CorruptSession(state.session_id, part=part, detail=str(whose))
    return planned


def decode_turn_result(state: SessionState, record: TurnRecord) -> TurnResult:
    """Return the result of a closed turn. Raises CorruptSession."""
    part = f"the result of turn {record.number}"
    return read_stored(TurnResult, record.result or "{}", session_id=state.session_id, part=part)


def decode_waiting(state: SessionState, record: TurnRecord) -> ParkedQuestion:
    """Return what a turn waits for, or has waited for. Raises CorruptSession."""
    part = f"the question of turn {record.number}"
    return read_stored(ParkedQuestion, record.wait or "{}", session_id=state.session_id, part=part)
