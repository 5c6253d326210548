"""The two tasks that workers run. All they do is find the runtime and call what does the work.

Results are not stored. What a task answers is a short text for the worker's log and for monitors, which read it
from the events of the worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from celery import shared_task

from ..models.collab import CollabMode
from ..models.errors import SessionNotFound, StateError, TurnFailed
from .advance import advance
from .graph import TurnCall
from .names import ADVANCE, TURN
from .runtime import runtime_of
from .speak import run_turn

if TYPE_CHECKING:
    from celery import Task

#: Logged in one line, without a traceback: a turn that failed for good; Redis is away, or what it holds of a session
#: cannot be read, and the sweep looks again.
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
        end = run_turn(runtime_of(self.app), call, task_id=str(request.id), parent_id=request.parent_id)
    except SessionNotFound:
        return _NOT_FOUND  # ended and expired: nothing is owed to this message
    if end.failed:
        raise TurnFailed(end.text)
    return end.text


@shared_task(name=ADVANCE, bind=True, ignore_result=True, throws=_EXPECTED)
def advance_task(self: Task[..., str], *, session: str) -> str:
    """Plan a session's next step if nobody has; return what was planned, in a few words."""
    try:
        return advance(runtime_of(self.app), session, parent=str(self.request.id))
    except SessionNotFound:
        return _NOT_FOUND
