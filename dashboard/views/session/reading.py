"""What the session page reads: the state of a session. Every call blocks."""

from __future__ import annotations

from collections.abc import Mapping

from ....jobs.collab import CollabJob
from ....jobs.reading import connections_of, facts_of
from ....models.modes import mode_of
from ....models.modes.decisions import DecisionLog
from ....state.redis.keys import lock_key
from ....state.redis.readers import converting_to_corrupt, read_object
from ....state.sessions.records import SessionState
from ....tasks.sessions.rendering import ledger_of
from .snapshot import SessionParts
from .usage import UsageTotals

#: Open turns whose leases are read.
_MAX_LEASES = 100


def read_session(job: CollabJob, usage: UsageTotals) -> SessionParts:
    """Return the parts of a session's page.

    Args:
        job: The session, live or archived.
        usage: The sums of this process.
    """
    state = job.state()
    facts = facts_of(job)
    mode = mode_of(facts.collab.mode)
    return SessionParts(
        facts=facts,
        state=state,
        totals=usage.read(job, opened_ms=state.opened_ms),
        is_live=job.is_live,
        leases_ms=_read_leases(job, state) if job.is_live else {},
        questions=job.pending() if job.is_live else (),
        board=job.board() if mode.has_board else (),
        ledger=ledger_of(state),
        children=job.descendants(),
        decisions=_read_decisions(state) if mode.has_orchestrator else None,
    )


def _read_leases(job: CollabJob, state: SessionState) -> Mapping[int, int]:
    """Return the milliseconds left of the locks of the turns that run."""
    running = [record for record in state.open_turns() if record.status == "speaking"][:_MAX_LEASES]
    if not running:
        return {}
    with connections_of(job).redis.pipeline(transaction=False) as pipe:
        for record in running:
            pipe.pttl(lock_key(job.id, record.scope))
        return {record.number: max(left, 0) for record, left in zip(running, pipe.execute(), strict=True)}


def _read_decisions(state: SessionState) -> DecisionLog:
    stored = read_object(state.planner, session_id=state.session_id, part="planner")
    with converting_to_corrupt(state.session_id, "planner"):
        return DecisionLog.model_validate(stored.get("ledger") or {})
