"""Span of an attempt of a turn, around everything from its grant to its end."""

from __future__ import annotations

from collections.abc import Callable

from ..runtime.runtime import Runtime
from ..runtime.tracing import AttemptEnd, AttemptStart, Cause
from .active_turn import ActiveTurn
from .results import TurnEnd


def run_traced(runtime: Runtime, active_turn: ActiveTurn, run: Callable[[], TurnEnd]) -> TurnEnd:
    """Run an attempt, with a span if the process has tracing."""
    if runtime.tracing is None:
        return run()
    with runtime.tracing.attempt(_start_of(active_turn)) as record_end:
        end = run()
        record_end(AttemptEnd(end.outcome or end.word, end.error, active_turn.admission.own_usage))
    return end


def _start_of(active_turn: ActiveTurn) -> AttemptStart:
    grant, participant = active_turn.grant, active_turn.planned.participant
    return AttemptStart(
        session_id=active_turn.session_id,
        mode=active_turn.facts.collab.mode.value,
        turn=grant.number,
        participant=participant,
        attempt=grant.grants,
        agent=grant.substitute or active_turn.facts.spec.agents[participant].agent,
        task_id=active_turn.task_id,
        cause=_cause_of(active_turn) if grant.grants > 1 else None,
        submitted_in=active_turn.facts.spec.submitted_in,
    )


def _cause_of(active_turn: ActiveTurn) -> Cause:
    if active_turn.grant.took_over:
        return Cause.TAKEOVER
    has_asked = bool(active_turn.state.records[active_turn.grant.number].wait)
    return Cause.ANSWER if has_asked and not active_turn.grant.failures else Cause.RETRY
