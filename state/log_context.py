"""Context of log records: the session, turn and agent that a worker thread processes.

A context variable holds it, so it also applies to the coroutines and threads that a turn starts. Setting it
costs less than a microsecond; it is read only when a record is formatted as JSON.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple

from ..models.context_values import SetInBlock


class LogContext(NamedTuple):
    """What a thread processes; None: unknown or not applicable."""

    session: str
    turn: int | None = None
    participant: str | None = None
    #: Number of the attempt, from 1.
    attempt: int | None = None
    agent: str | None = None


_current: ContextVar[LogContext | None] = ContextVar("symposia_log_context", default=None)


def current_log_context() -> LogContext | None:
    """Return the context of the current thread or coroutine; None outside of sessions."""
    return _current.get()


def log_context(
    session: str, turn: int | None = None, participant: str | None = None, attempt: int | None = None
) -> SetInBlock[LogContext | None]:
    """Set the context while the block runs."""
    return SetInBlock(_current, LogContext(session, turn, participant, attempt))


def add_to_log_context(*, attempt: int, agent: str) -> None:
    """Add attempt and agent to the context of the enclosing `log_context` block, if there is one."""
    context = _current.get()
    if context is not None:
        _current.set(context._replace(attempt=attempt, agent=agent))
