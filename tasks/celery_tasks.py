"""The two tasks that workers run. All they do is find the runtime and call what does the work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from celery import shared_task

from ..models.collab import CollabMode
from ..models.errors import SessionNotFound, StateError
from .advance import advance
from .graph import TurnCall
from .names import ADVANCE, TURN
from .runtime import runtime_of
from .speak import run_turn

if TYPE_CHECKING:
    from celery import Task

#: Told in one line: Redis is away, or what it holds of a session cannot be read. The sweep looks again.
_EXPECTED = (StateError,)


@shared_task(name=TURN, bind=True, ignore_result=True, throws=_EXPECTED)
def turn_task(
    self: Task[..., None], *, session: str, turn: int, participant: str, mode: str, scope: str
) -> None:
    """Runs one turn of a session. A delivery is a hint: it may come twice, late, or never."""
    call = TurnCall(session, turn, participant, CollabMode(mode), scope)
    try:
        run_turn(runtime_of(self.app), call, task_id=str(self.request.id), parent_id=self.request.parent_id)
    except SessionNotFound:
        return  # ended and expired: nothing is owed to this message


@shared_task(name=ADVANCE, bind=True, ignore_result=True, throws=_EXPECTED)
def advance_task(self: Task[..., None], *, session: str) -> None:
    """Plans a session's next step if nobody has."""
    try:
        advance(runtime_of(self.app), session, parent=str(self.request.id))
    except SessionNotFound:
        return
