"""What traces get of an attempt: its turn, its end, and the exception of its agent without secrets."""

from __future__ import annotations

import traceback
from collections.abc import Iterable

from ..agents.execution.failures import MAX_TRACEBACK
from ..agents.execution.reporting import exception_to_report
from ..models.errors import AgentError
from ..models.text.redact import scrub_secrets
from ..models.turns.waiting import Awaits
from .ports import AttemptEnd, AttemptError, AttemptStart, Cause
from .turns.results import TurnEnd
from .turns.turn import Turn
from .waiting.subsessions.opening import next_child


def describe_start(turn: Turn) -> AttemptStart:
    """Return what a trace gets of an attempt that begins."""
    return AttemptStart(
        session_id=turn.session_id,
        mode=turn.facts.collab.mode.value,
        turn=turn.number,
        participant=turn.planned.participant,
        attempt=turn.grant.grants,
        agent=turn.agent,
        task_id=turn.task.id,
        cause=_cause_of(turn) if turn.grant.grants > 1 else None,
        submitted_in=turn.facts.spec.submitted_in,
    )


def _cause_of(turn: Turn) -> Cause:
    if turn.grant.took_over:
        return Cause.TAKEOVER
    return Cause.ANSWER if turn.record.wait and not turn.grant.failures else Cause.RETRY


def describe_end(turn: Turn, end: TurnEnd, secrets: Iterable[str]) -> AttemptEnd:
    """Return what a trace gets of an attempt that has ended; `secrets`: texts that it must not contain."""
    return AttemptEnd(
        end.outcome or end.word,
        _error_of(end, tuple(secrets)),
        turn.admission.own_usage,
        child=next_child(turn).child_id if end.awaits is Awaits.SESSION else None,
    )


def _error_of(end: TurnEnd, secrets: tuple[str, ...]) -> AttemptError | None:
    if not end.error:
        return None
    raised = end.raised
    if raised is None:
        return AttemptError(end.error)
    kind = type(_first_cause(raised))
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return AttemptError(end.error, name, _stack_trace(raised, secrets))


def _first_cause(raised: AgentError) -> BaseException:
    """Return the exception that an error of Symposia stands for, such as that of a failed model request."""
    error: BaseException = raised.original or raised
    while isinstance(error, AgentError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def _stack_trace(raised: AgentError, secrets: tuple[str, ...]) -> str:
    """Return the traceback in the agent's own code, or that in the libraries that Symposia calls for it."""
    if raised.origin is not None:
        return raised.origin.traceback
    shown = exception_to_report(raised.original or raised, secrets)
    return scrub_secrets("".join(traceback.format_exception(shown)), secrets)[-MAX_TRACEBACK:]
