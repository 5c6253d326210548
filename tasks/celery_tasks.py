"""The Celery tasks of sessions: one turn, and the planning of the next step.

Results are not stored. A task returns a short text for the worker's log and for monitors, which read it
from the worker's events.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from celery import shared_task
from celery.exceptions import Ignore, Retry

from ..agents.execution.reporting import exception_to_report
from ..models.errors import NewerFormat, SessionNotFound, StateError, TurnFailed
from ..models.protocol.collab import CollabMode
from ..state.log_context import log_context
from ..state.sessions.turn_records import TaskInfo
from .planning.advance import advance
from .run_turn import handle_turn_message
from .runtime.graph import ADVANCE, HANDED_ON, TURN, TurnCall, report_wait
from .runtime.runtime import Runtime, runtime_of
from .turns.admission import find_newer_worker
from .turns.results import TurnEnd

if TYPE_CHECKING:
    from celery import Task


log = logging.getLogger(__name__)

#: Exceptions that are logged in one line, and that error trackers ignore: Redis is unavailable, or the state of a
#: session cannot be read; then the sweep retries.
_EXPECTED = (StateError,)
_NOT_FOUND = "session not found"


class TurnRetried(Retry):
    """The attempt failed, and the session runs the turn again."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        # With a pool of processes, the event `task-retried` shows the cause of a Retry; with threads, the Retry.
        self.exc = self

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r})"


@shared_task(
    name=TURN, bind=True, ignore_result=True, acks_late=True, reject_on_worker_lost=True, throws=_EXPECTED
)
def turn_task(
    self: Task[..., str], *, session: str, turn: int, participant: str, mode: str, scope: str
) -> str:
    """Run one turn of a session. The message is a hint: it may arrive twice, late or never.

    Returns:
        The result of the turn, in a few words.

    Raises:
        TurnFailed: A failure exhausted the attempts of the turn, or ended the session. The failure is stored;
            the exception is only for Celery's monitors and for error trackers (its cause is the exception of the
            agent), and Celery does not retry it.
        TurnRetried: The attempt failed, and the session runs the turn again; only for Celery's monitors, too.
        Ignore: The turn is parked. The Celery task has a state of its own until the wait ends.
    """
    result = _take_turn(self, session, turn, participant, mode, scope)
    # Error trackers show the variables of the frame that raises: here, none of them holds the dialog.
    if isinstance(result, TurnFailed):
        raise result
    return result


def _take_turn(
    task_in_use: Task[..., str], session: str, turn: int, participant: str, mode: str, scope: str
) -> str | TurnFailed:
    """Run a turn; return its result in a few words, or its final failure."""
    request = task_in_use.request
    is_handed_on = bool(request.get(HANDED_ON))
    call = TurnCall(session, turn, participant, CollabMode(mode), scope, handed_on=is_handed_on)
    task = TaskInfo(str(request.id), str(request.hostname or ""), request.parent_id)
    runtime = runtime_of(task_in_use.app)
    try:
        with runtime.ports.held.hold(session), log_context(session, turn, participant):
            end = handle_turn_message(runtime, call, task)
    except SessionNotFound:
        return _NOT_FOUND  # the session has ended and expired
    except NewerFormat as error:
        parent = request.parent_id or session
        return hand_on_newer(
            runtime,
            error,
            lambda queue, now_ms: runtime.graph.hand_on_turn(
                call, queue=queue, parent=parent, sent_ms=now_ms
            ),
        )
    if end.failed:
        return _final_failure(end, runtime.agents.services.secrets)
    if end.retried:
        raise TurnRetried(end.text)
    if end.awaits is not None:
        log.info("turn %s of session %s %s", turn, session, end.text)
        report_wait(runtime.graph, task, end.awaits, end.text)
        raise Ignore(end.text)
    return end.text


@shared_task(
    name=ADVANCE, bind=True, ignore_result=True, acks_late=True, reject_on_worker_lost=True, throws=_EXPECTED
)
def advance_task(self: Task[..., str], *, session: str) -> str:
    """Plan a session's next step unless it is planned; return a short summary."""
    runtime = runtime_of(self.app)
    try:
        with runtime.ports.held.hold(session), log_context(session):
            return advance(runtime, session, parent=str(self.request.id))
    except SessionNotFound:
        return _NOT_FOUND
    except NewerFormat as error:
        return hand_on_newer(
            runtime,
            error,
            lambda queue, now_ms: runtime.graph.hand_on_advance(session, queue=queue, sent_ms=now_ms),
        )


def hand_on_newer(runtime: Runtime, error: NewerFormat, send: Callable[[str, int], None]) -> str:
    """Hand a message of a session in a newer format on to a worker that reads it; return the text for monitors.

    Args:
        runtime: The runtime of this process.
        error: The error of this worker.
        send: Sends the message to a queue; its arguments are the queue, and the time by the server's clock in
            milliseconds.

    Raises:
        NewerFormat: No running worker reads it: newer workers find the session when they start.
    """
    queue = find_newer_worker(runtime, error)
    if not queue:
        raise error
    log.info("%s; handed on to a newer worker", error)
    send(queue, runtime.index.now_ms())
    return "handed on to a worker of a newer version"


def _final_failure(end: TurnEnd, secrets: Iterable[str]) -> TurnFailed:
    """Return the exception of a turn that failed finally, with the exception of its agent as the cause."""
    raised = end.raised
    if raised is None:
        return TurnFailed(end.text)
    failure = TurnFailed(end.text, agent_traceback=raised.origin.traceback if raised.origin else "")
    failure.__cause__ = exception_to_report(raised.original or raised, secrets)
    return failure
