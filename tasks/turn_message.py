"""Handling of one delivery of a turn's message: the turn itself, and the work after it."""

from __future__ import annotations

from .planning.advance import advance
from .run_turn import run_turn
from .runtime.graph import TurnCall
from .runtime.runtime import Runtime
from .turns.summary import PlanNext, TurnEnd, WakeParked
from .waiting.waking import handle_due_work


def handle_turn_message(runtime: Runtime, call: TurnCall, *, task_id: str, parent_id: str | None) -> TurnEnd:
    """Run the turn, check it if it is parked, or plan the next step if the turn is over.

    Args:
        runtime: The runtime of this process.
        call: The turn, as the message names it.
        task_id: Id of the Celery task.
        parent_id: Id of the Celery task that sent it.

    Returns:
        The result of the delivery.
    """
    end = run_turn(runtime, call, task_id=task_id, parent_id=parent_id)
    follow_up = end.follow_up
    if isinstance(follow_up, WakeParked):
        return handle_due_work(runtime, follow_up.facts, follow_up.state, call.turn)
    if isinstance(follow_up, PlanNext):
        advance(runtime, call.session, parent=task_id, state=follow_up.state, exhausted=follow_up.exhausted)
    return end
