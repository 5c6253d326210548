"""What an operator should look at in a session. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...models.metrics import StuckReason
from ...models.protocol.collab import CollabStatus
from ...state.sessions.live_sessions import stuck_reason
from ...state.sessions.records import SessionState
from ...state.worker_routes import describe_awaited
from .collab_row import CollabFacts, CollabRow

#: Kind of attention, and the same in words; None: nothing.
Attention = tuple[Literal["stuck", "no_worker", "parked", "unreadable"] | None, str | None]


@dataclass(frozen=True, slots=True)
class AttentionLimits:
    """Times without progress, in milliseconds, after which a session is shown as stuck."""

    #: A message waits for a worker.
    queued_ms: int
    #: A turn waits for budget, or no worker sweeps the session: as in the metrics.
    stuck_ms: int


def attention_of(
    state: SessionState,
    facts: CollabFacts,
    *,
    limits: AttentionLimits,
    has_workers: bool,
    is_unswept: bool = False,
) -> Attention:
    """Return what an operator should look at.

    Args:
        state: The state of the session; `now_ms` is the time of the judgement.
        facts: Its settings.
        limits: Times after which it is stuck.
        has_workers: Whether any worker is running.
        is_unswept: Whether its check by a worker is overdue by the time of the limits.
    """
    if state.status is not CollabStatus.ACTIVE:
        return None, None
    turns = state.open_turns()
    parked = [turn for turn in turns if turn.parking is not None]
    if not has_workers and (not turns or len(parked) < len(turns)):
        return "no_worker", "no worker is running"
    if text := _describe_stuck(state, limits, is_unswept=is_unswept):
        return "stuck", text
    if parked:
        names = (facts.names.get(turn.participant, turn.participant) for turn in parked)
        return "parked", f"waits for an answer to {', '.join(names)}"
    return None, None


def _describe_stuck(state: SessionState, limits: AttentionLimits, *, is_unswept: bool) -> str | None:
    if agents := state.awaited_agents:
        return describe_awaited(agents)
    if stuck_reason(state, after_ms=limits.queued_ms) is StuckReason.QUEUED:
        return "queued, but no worker has taken it"
    if stuck_reason(state, after_ms=limits.stuck_ms) is StuckReason.BUDGET:
        return "a turn waits for budget"
    return "no worker sweeps it" if is_unswept else None


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
            last_error=None,
            archived=False,
            position=f"{now_ms}-0",
        )
    return {
        **before,
        "attention": "unreadable",
        "attention_text": error,
        "speakers": [],
        "position": f"{now_ms}-0",
    }
