"""What scripts carry of a turn and never look into, read: its plan, its result, what it waits for."""

from __future__ import annotations

from collections.abc import Container

from ..models.errors import CorruptSession, InvalidInput
from ..models.plan import PlannedTurn
from ..models.turn import TurnResult
from ..models.waiting import Waiting
from ..state.records import SessionState
from ..state.stored import read_stored
from ..state.turn_records import TurnRecord


def planned_turn(state: SessionState, record: TurnRecord, roster: Container[str]) -> PlannedTurn:
    """An open turn as it was planned, for somebody of the roster. Raises CorruptSession."""
    part = f"the plan of turn {record.number}"
    planned = read_stored(PlannedTurn, record.plan or "{}", session_id=state.session_id, part=part)
    if planned.participant != record.participant or planned.participant not in roster:
        whose = InvalidInput("participant", planned.participant, "must be whose turn it is")
        raise CorruptSession(state.session_id, part=part, detail=str(whose))
    return planned


def turn_result(state: SessionState, record: TurnRecord) -> TurnResult:
    """What became of a closed turn. Raises CorruptSession."""
    part = f"the result of turn {record.number}"
    return read_stored(TurnResult, record.result or "{}", session_id=state.session_id, part=part)


def turn_wait(state: SessionState, record: TurnRecord) -> Waiting:
    """What a turn waits for, or has waited for. Raises CorruptSession."""
    part = f"the question of turn {record.number}"
    return read_stored(Waiting, record.wait or "{}", session_id=state.session_id, part=part)
