"""Protocols of the services that a worker and features provide to the engine, and their stand-ins that do nothing.

A runtime without tracing has None instead, and pays one comparison per turn. All ids of traces are derived from the
session (`models/text/ids.py`), so no message carries a trace context.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from ..models.metrics import (
    Metric,
)
from ..models.turns.turn import Usage
from ..state.sessions.records import SessionState
from .views.session_views import SessionFacts

if TYPE_CHECKING:
    from ..models.memory.learned import Learned
    from ..models.memory.recall import RecalledMemory
    from ..models.turns.turn import TurnOutcome, TurnResult
    from ..state.sessions.requests import JournalNote


class MemoryPort(Protocol):
    """Dialog memory for the turns of a worker."""

    def recall(self, facts: SessionFacts, *, now_ms: int) -> RecalledMemory | None:
        """Return the memory for a turn that was just granted; None in a session without memory."""
        ...

    def add_sentence(self, facts: SessionFacts, learned: Learned, *, now_ms: int) -> RecalledMemory | None:
        """Keep what was read from the session's sentence, and return the memory with it."""
        ...

    def add_statements(
        self, recollection: RecalledMemory, result: TurnResult, outcome: TurnOutcome
    ) -> tuple[TurnResult, tuple[JournalNote, ...]]:
        """Return the result with the statements of its turn that are to be remembered, and events of what is dropped."""
        ...

    def remember(self, facts: SessionFacts, state: SessionState) -> None:
        """Store the statements of turns that closed since the last plan; a repeated call changes nothing."""
        ...


class RecollectionPort(Protocol):
    """Long-term memory for the turns of a process."""

    def recall(self, facts: SessionFacts, query: str) -> tuple[str, ...] | None:
        """Return the texts for a turn; None in a session without long-term memory. Never raises."""
        ...

    def remember(self, facts: SessionFacts, state: SessionState) -> None:
        """Store the notes of turns that closed since the last plan; a repeated call changes nothing."""
        ...

    def retry(self) -> int:
        """Store the notes that wait; return for how many turns it succeeded."""
        ...


class MetricSink(Protocol):
    """Receiver of counts and observations. No method raises; `count` and `observe` do not call Redis."""

    def count(self, metric: Metric, *labels: str, amount: int = 1) -> None:
        """Add to a counter; `amount` is in stored units."""
        ...

    def observe(self, metric: Metric, seconds: float, *labels: str) -> None:
        """Add an observation to a histogram."""
        ...

    def flush(self) -> None:
        """Write all counts now, as at the end of the process; this does call Redis."""
        ...


class NoMetrics:
    """Sink that ignores everything, for runtimes without monitoring."""

    def count(self, metric: Metric, *labels: str, amount: int = 1) -> None:
        """Do nothing."""

    def observe(self, metric: Metric, seconds: float, *labels: str) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Do nothing."""


class EndMessages(Protocol):
    """Sender of the messages that sessions cause when they end."""

    def send(self, session_id: str) -> None:
        """Send the message of an ended session, or leave it to the sweep; may be called again."""
        ...


class NoEndMessages:
    """Sender for a process without a Celery app, where no session has such a message."""

    def send(self, session_id: str) -> None:
        """Do nothing."""


class SessionEvents(Protocol):
    """Receiver of events of sessions, for webhooks. Each method may be called again for the same event.

    The caller calls before the session leaves the due index, or has its next check. So a process that dies, or a call
    that raises, leaves the event to the sweep.
    """

    @property
    def has_questions(self) -> bool:
        """Whether questions are of interest."""
        ...

    def ended(self, facts: SessionFacts, state: SessionState) -> None:
        """Record that a session has ended. Raises RedisUnavailable."""
        ...

    def asked(self, facts: SessionFacts, state: SessionState, number: int) -> None:
        """Record that a turn is parked with a question. Raises RedisUnavailable."""
        ...


class NoSessionEvents:
    """Receiver that ignores everything."""

    has_questions = False

    def ended(self, facts: SessionFacts, state: SessionState) -> None:
        """Do nothing."""

    def asked(self, facts: SessionFacts, state: SessionState, number: int) -> None:
        """Do nothing."""


class HeldSessions(Protocol):
    """Report of the sessions that this process works on."""

    @property
    def process(self) -> str:
        """Return the id of this process, different for each start; empty: its end is not noticed."""
        ...

    def hold(self, session_id: str) -> AbstractContextManager[object]:
        """Report that this process works on the session while the block runs."""
        ...

    def keep_all(self) -> None:
        """Report no end of work any more: other workers take over the sessions when this process has ended."""
        ...


class NoHeldSessions:
    """Report of a process that is no worker: its turns are taken over when their leases expire."""

    process = ""

    def hold(self, session_id: str) -> AbstractContextManager[object]:  # noqa: ARG002 - part of the protocol
        """Report nothing."""
        return nullcontext()

    def keep_all(self) -> None:
        """Report nothing."""


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


#: Class of an error that no exception caused, such as the loss of several workers; OpenTelemetry defines it.
OTHER_ERROR = "_OTHER"


@dataclass(frozen=True, slots=True)
class AttemptError:
    """The error of a failed attempt, without secrets."""

    text: str
    #: Class of the exception with its module, or `OTHER_ERROR`.
    kind: str = OTHER_ERROR
    #: Traceback of the exception; empty: there is none.
    stack: str = ""


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """The end of an attempt."""

    #: An `OutcomeKind`, or `parked`, `held`, `lost`, `discarded`.
    outcome: str
    #: Error of the attempt; None: it did not fail.
    error: AttemptError | None = None
    #: Usage of this attempt; None: unknown.
    usage: Usage | None = None
    #: Id of the sub-session that the turn waits for; None: it waits for none.
    child: str | None = None


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
