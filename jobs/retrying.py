"""A new attempt of a failed session: a fork before the turn that failed."""

from __future__ import annotations

from ..models.errors import InvalidInput
from ..models.protocol.events import MAPEventType
from ..models.sessions.shown_status import ShownStatus, shown_status
from .collab import CollabJob


def retry_session(job: CollabJob) -> CollabJob:
    """Begin a new session of the same thread, before the turn that failed; if all turns failed, before the first.

    Args:
        job: The failed session, live or archived. It is not changed.

    Returns:
        The new session.

    Raises:
        InvalidInput: The session has not failed, or cannot be forked; nothing was written.
        RedisUnavailable: Nothing was written.
    """
    state = job.state()
    shown = shown_status(state.status.value, state.reason)
    if shown is not ShownStatus.FAILED:
        raise InvalidInput("id", job.id, f"must be the id of a failed session; this one is {shown}")
    turns = _failed_turns(job)
    if not turns:
        raise InvalidInput("id", job.id, "must be a session with a failed turn")
    return job.fork(at_turn=turns[0] if state.reason == "all_turns_failed" else turns[-1])


def _failed_turns(job: CollabJob) -> list[int]:
    """Return the turns that failed, or without one those that were not answered, in the order of their ends."""
    ends: dict[str, list[int]] = {"failed": [], "cancelled": []}
    for event in job.events():
        payload = event.payload or {}
        result, number = payload.get("result"), payload.get("turn_number")
        if event.event_type is not MAPEventType.TURN_COMPLETED or not isinstance(number, int):
            continue
        outcome = result.get("outcome") if isinstance(result, dict) else None
        ends.setdefault("failed" if outcome in ("failed", "skipped") else str(outcome), []).append(number)
    return ends["failed"] or ends["cancelled"]
