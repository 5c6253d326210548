"""Port of tracing: spans of sessions and of the attempts of turns.

A runtime without tracing has None instead, and pays one comparison per turn. All ids are derived from the
session (`models/text/ids.py`), so no message carries a trace context.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from ...models.turns.turn import Usage
from ...state.sessions.records import SessionState
from ..views.session_views import SessionFacts


def active_span() -> str | None:
    """Return the active span of this program, in the format of W3C's header `traceparent`; None: no span is active."""
    if "opentelemetry.trace" not in sys.modules:  # a program with an active span has imported it
        return None
    from opentelemetry.trace import get_current_span

    span = get_current_span().get_span_context()
    if not span.is_valid:
        return None
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{int(span.trace_flags) & 0xFF:02x}"


class Cause(StrEnum):
    """Why a turn has another attempt."""

    #: The previous attempt failed.
    RETRY = "retry"
    #: The lease of the previous attempt expired: its worker was lost.
    TAKEOVER = "takeover"
    #: The previous attempt asked a question, which is answered.
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class AttemptStart:
    """An attempt of a turn that begins."""

    session_id: str
    mode: str
    turn: int
    participant: str
    #: Number of the attempt, from 1.
    attempt: int
    agent: str
    task_id: str
    #: Cause of an attempt after the first; None: it is the first.
    cause: Cause | None = None
    #: Span in which the session was submitted: see `SessionSpec`.
    submitted_in: str | None = None


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """The end of an attempt."""

    #: An `OutcomeKind`, or `parked`, `held`, `lost`, `discarded`.
    outcome: str
    #: Error of a failed attempt, without secrets; empty: it did not fail.
    error: str = ""
    #: Usage of this attempt; None: unknown.
    usage: Usage | None = None


class Tracing(Protocol):
    """Tracing of one process. No method waits for a server or raises."""

    def attempt(self, start: AttemptStart) -> AbstractContextManager[Callable[[AttemptEnd], None]]:
        """Return a context in which the attempt runs; its value records the end of the attempt."""
        ...

    def end_session(self, facts: SessionFacts, state: SessionState) -> None:
        """Record the span of a session that has ended; called once per session."""
        ...

    def model_instrumentation(self) -> object:
        """Return pydantic-ai's settings for the spans of model requests and tool calls."""
        ...
