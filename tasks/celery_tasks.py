"""The two Celery tasks of the workers. They find the runtime and call the functions that do the work.

Results are not stored. A task returns a short text for the worker's log and for monitors, which read it
from the worker's events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from celery import shared_task

from ..models.errors import SessionNotFound, StateError, TurnFailed
from ..models.protocol.collab import CollabMode
from .planning.advance import advance
from .run_turn import handle_turn_message
from .runtime.graph import ADVANCE, TURN, TurnCall
from .runtime.runtime import runtime_of

if TYPE_CHECKING:
    from celery import Task

#: Exceptions logged in one line, without a traceback: a turn that failed for good; Redis is unavailable, or the state of a
#: session in it cannot be read. In the last two cases the sweep retries.
_EXPECTED = (StateError, TurnFailed)
_NOT_FOUND = "session not found"


@shared_task(name=TURN, bind=True, ignore_result=True, throws=_EXPECTED)
def turn_task(
    self: Task[..., str], *, session: str, turn: int, participant: str, mode: str, scope: str
) -> str:
    """Run one turn of a session. A delivery is a hint: it may come twice, late, or never.

    Returns:
        What became of the turn, in a few words.

    Raises:
        TurnFailed: a failure exhausted the attempts of the turn, or ended the session. All of that is written; the
            exception is for Celery's monitors, and is not retried.
    """
    call, request = TurnCall(session, turn, participant, CollabMode(mode), scope), self.request
    try:
        end = handle_turn_message(
            runtime_of(self.app), call, task_id=str(request.id), parent_id=request.parent_id
        )
    except SessionNotFound:
        return _NOT_FOUND  # ended and expired
    if end.failed:
        raise TurnFailed(end.text)
    return end.text


@shared_task(name=ADVANCE, bind=True, ignore_result=True, throws=_EXPECTED)
def advance_task(self: Task[..., str], *, session: str) -> str:
    """Plan a session's next step unless it is planned; return a short summary."""
    try:
        return advance(runtime_of(self.app), session, parent=str(self.request.id))
    except SessionNotFound:
        return _NOT_FOUND
