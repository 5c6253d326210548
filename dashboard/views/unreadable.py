"""Rows of sessions that cannot be read. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from ...jobs.conditions import Condition
from ...models.protocol.collab import CollabStatus
from .attention import with_condition
from .collab_row import CollabRow


@dataclass(frozen=True, slots=True)
class UnreadableSession:
    """A session whose records are not valid."""

    session_id: str
    #: Which part cannot be read, and why.
    error: str
    #: Its status as stored, which may be any text; None: it cannot be read.
    status: str | None


def unreadable_row(session: UnreadableSession, *, before: CollabRow | None, now_ms: int) -> CollabRow:
    """Return the row of a session that cannot be read: its id and the error, with what was read before.

    Args:
        session: The session.
        before: Its row until now.
        now_ms: The time by the server's clock.
    """
    error = session.error
    if before is not None and (before["attention"], before["attention_text"]) == ("unreadable", error):
        return before
    if before is None:
        status = session.status if session.status in tuple(CollabStatus) else CollabStatus.ACTIVE
        before = CollabRow(
            id=session.session_id,
            thread=None,
            title="",
            mode="",
            status=str(status),
            shown=str(status),
            reason=None,
            detail=None,
            attention=None,
            attention_text=None,
            attention_next=None,
            attention_since_ms=None,
            attention_due_ms=None,
            turns=0,
            max_turns=None,
            rounds=0,
            messages=0,
            tokens=0,
            cost_micros=0,
            speakers=[],
            participants=0,
            tenant=None,
            user=None,
            tags=[],
            agents=[],
            limits=[],
            first_limit=None,
            ends_about_ms=None,
            error=None,
            opened_ms=now_ms,
            updated_ms=now_ms,
            ended_ms=None,
            actor=None,
            last_error=None,
            archived=False,
            position=f"{now_ms}-0",
        )
    condition = Condition("unreadable", detail=error, since_ms=now_ms)
    return {**with_condition(before, condition), "speakers": [], "position": f"{now_ms}-0"}
