"""Celery events of parked turns: monitors show who a Celery task waits for, and how the wait ended.

The Celery task that parks a turn ends, but its result comes later, perhaps from another process. Until then
it has the state `AWAITING_HUMAN`, `AWAITING_REMOTE` or `AWAITING_SESSION`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...models.errors import TurnFailed
from ...models.turns.waiting import Awaits
from ...state.sessions.records import SessionState
from ...state.sessions.turn_records import ParkedBy, TurnRecord
from .graph import TaskGraph


def report_wait(graph: TaskGraph, task: ParkedBy, awaits: Awaits, summary: str) -> None:
    """Report that a Celery task has parked a turn."""
    # Celery's monitors derive the state from the name of the event.
    graph.report(task, f"task-{awaits}", result=repr(summary))


def report_wait_end(graph: TaskGraph, record: TurnRecord, summary: str, *, failed: bool = False) -> None:
    """Report how the wait of a parked turn ended.

    Args:
        graph: Connection to the broker.
        record: The turn, as it was parked.
        summary: How the wait ended; without dialog text.
        failed: The turn failed.
    """
    if record.parked_by is None:
        return
    if failed:
        graph.report(record.parked_by, "task-failed", exception=repr(TurnFailed(summary)), traceback="")
    else:
        graph.report(record.parked_by, "task-succeeded", result=repr(summary))


def report_dropped(graph: TaskGraph, state: SessionState, numbers: Iterable[int]) -> None:
    """Report of each of these turns that it waits no longer, if it was parked and is dropped now."""
    for number in numbers:
        record = state.records.get(number)
        if record is not None and record.status == "dropped" and record.parked_by is not None:
            # Not `task-revoked`: after a state of its own, Celery's monitors show only a success, a failure or
            # another state of its own.
            graph.report(record.parked_by, "task-cancelled", result=repr("no longer needed"))
