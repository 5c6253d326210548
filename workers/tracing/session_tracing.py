"""Spans of sessions and of the attempts of turns, one trace per session.

The parent of an attempt is the span of its session, which does not exist yet: the worker that ends the session
exports it. Both ids are derived, so workers agree on them without a message.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property

from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.sdk.metrics import MeterProvider as SdkMeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.semconv.attributes.exception_attributes import (
    EXCEPTION_MESSAGE,
    EXCEPTION_STACKTRACE,
    EXCEPTION_TYPE,
)
from opentelemetry.trace import (
    INVALID_SPAN,
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    Tracer,
    set_span_in_context,
    use_span,
)

from ...models.metrics import reason_class
from ...models.protocol.collab import CollabStatus
from ...models.text.ids import attempt_span_id, session_span_id, trace_id
from ...models.text.redact import excerpt
from ...models.turns.turn import Usage
from ...state.sessions.records import SessionState
from ...tasks.ports import OTHER_ERROR, AttemptEnd, AttemptError, AttemptStart
from ...tasks.views.session_views import SessionFacts
from .provider import MAX_ATTRIBUTE_CHARS, DerivedIds
from .turn_spans import (
    AGENT_NAME,
    ERROR_TYPE,
    INVOKE_WORKFLOW,
    OPERATION,
    WORKFLOW_NAME,
    TurnTracers,
    enter_turn,
    session_attributes,
)

#: Upper bounds of the buckets of durations, in seconds: from a scripted agent to the longest turn.
BUCKETS_S = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1_000, 3_600)

log = logging.getLogger(__name__)

#: Maximum seconds for which the end of a process waits for the export of the last spans.
CLOSE_TIMEOUT_S = 5.0
#: Maximum characters of an attribute.
MAX_CHARS = 200
#: Outcomes of an attempt after which its span has the status error.
_ERRORS = frozenset({"failed", "skipped"})
#: Reason of a session that was cancelled on request, which is no error.
_ON_REQUEST = "cancelled"
#: Causes of links: to the span in which the session was submitted, and from a turn to its sub-session.
_SUBMISSION, _SUBSESSION = "submission", "subsession"

Attributes = Mapping[str, str | int | float]


class SessionTracing:
    """Tracing of one process.

    Args:
        provider: Provider of the SDK.
        ids: Its generator of ids.
        meters: Provider of metrics.
        captures_content: Whether spans of model requests and tool calls contain messages.
    """

    def __init__(
        self,
        provider: TracerProvider,
        ids: DerivedIds,
        meters: MeterProvider,
        *,
        captures_content: bool = False,
    ) -> None:
        self._provider = provider
        self._meters = meters
        meter = meters.get_meter("symposia")
        self._turn_seconds = meter.create_histogram(
            "symposia.turn.duration",
            unit="s",
            description="Duration of the attempts of turns",
            explicit_bucket_boundaries_advisory=BUCKETS_S,
        )
        self._ended_sessions = meter.create_counter(
            "symposia.sessions.ended", unit="{session}", description="Sessions that have ended"
        )
        self._ids = ids
        self._captures_content = captures_content
        self._tracer: Tracer = provider.get_tracer("symposia")
        self._is_closed = False

    @contextmanager
    def attempt(self, start: AttemptStart) -> Iterator[Callable[[AttemptEnd], None]]:
        """Run an attempt with its span as the current span."""
        try:
            span = self._start_attempt(start)
        except Exception:  # a trace is no reason for a turn to fail
            log.exception("tracing turn %s of session %s failed", start.turn, start.session_id)
            span = INVALID_SPAN
        since = time.monotonic()

        def record_end(end: AttemptEnd) -> None:
            _record_end(span, end)
            labels = {"symposia.mode": start.mode, "symposia.outcome": end.outcome}
            self._turn_seconds.record(time.monotonic() - since, labels)

        with (
            use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False),
            enter_turn(start.session_id, excerpt(start.agent, MAX_CHARS)),
        ):
            try:
                yield record_end
            except BaseException as error:
                _record_error(
                    span, type(error).__name__, AttemptError("", type(error).__qualname__)
                )  # secrets
                raise

    def _start_attempt(self, start: AttemptStart) -> Span:
        session_id = start.session_id
        attributes: dict[str, str | int | float] = {
            **_sampled_attributes(session_id, start.mode),
            AGENT_NAME: excerpt(start.agent, MAX_CHARS),
            "symposia.turn": start.turn,
            "symposia.participant": excerpt(start.participant, MAX_CHARS),
            "symposia.agent": excerpt(start.agent, MAX_CHARS),
            "symposia.attempt": start.attempt,
            "celery.task_id": start.task_id,
        }
        with self._ids.use(trace_id(session_id), attempt_span_id(session_id, start.turn, start.attempt)):
            return self._tracer.start_span(
                f"turn {attributes['symposia.participant']}",
                context=self._within_session(session_id, start.mode),
                kind=SpanKind.CONSUMER,
                attributes=attributes,
                links=_links(start),
            )

    def end_session(self, facts: SessionFacts, state: SessionState) -> None:
        """Export the span of a session, with the times of the server's clock."""
        try:
            self._end_session(facts, state)
        except Exception:  # a trace is no reason for a session to fail
            log.exception("tracing the end of session %s failed", facts.session_id)

    def _end_session(self, facts: SessionFacts, state: SessionState) -> None:
        session_id, mode = facts.session_id, facts.collab.mode.value
        usage = state.usage
        attributes = {
            "symposia.status": state.status.value,
            "symposia.reason": excerpt(state.reason or "", MAX_CHARS),
            "symposia.participants": len(facts.participants),
            "symposia.turns": state.closed,
            "symposia.messages": state.messages,
            **_usage_attributes(usage),
            OPERATION: INVOKE_WORKFLOW,
            WORKFLOW_NAME: mode,
        }
        with self._ids.use(trace_id(session_id), session_span_id(session_id)):
            span = self._tracer.start_span(
                _session_name(mode),
                context=Context(),
                attributes=_sampled_attributes(session_id, mode),
                links=_link_to_submitter(facts.spec.submitted_in),
                start_time=_nanoseconds(state.started_ms),
            )
        span.set_attributes(attributes)
        if facts.spec.parent is not None:
            span.set_attribute("symposia.parent.session.id", facts.spec.parent.session_id)
        if state.status is CollabStatus.CANCELLED and state.reason != _ON_REQUEST:
            text = ": ".join(filter(None, [state.reason, state.detail]))
            span.set_status(StatusCode.ERROR, excerpt(text, MAX_CHARS))
            span.set_attribute(ERROR_TYPE, reason_class(state.reason or ""))
        span.end(_nanoseconds(state.ended_ms or state.now_ms))
        self._ended_sessions.add(1, {"symposia.mode": mode, "symposia.status": state.status.value})

    def model_instrumentation(self) -> object:
        """Return pydantic-ai's settings, which name this provider."""
        return self._model_instrumentation

    @cached_property
    def _model_instrumentation(self) -> object:
        from pydantic_ai.models.instrumented import InstrumentationSettings

        return InstrumentationSettings(
            tracer_provider=TurnTracers(self._provider),
            meter_provider=self._meters,
            include_content=self._captures_content,
            include_binary_content=False,
            include_model_request_parameters=False,
        )

    def close(self) -> None:
        """Export the remaining spans and metrics, for at most `CLOSE_TIMEOUT_S` seconds; later calls do nothing."""
        closing, self._is_closed = not self._is_closed, True
        if closing:  # the SDK itself waits for half a minute for a collector that does not answer
            thread = threading.Thread(target=self._shut_down, name="symposia-traces", daemon=True)
            with suppress(RuntimeError):  # newer Python versions start no thread at their exit
                thread.start()
                thread.join(CLOSE_TIMEOUT_S)

    def _shut_down(self) -> None:
        self._provider.shutdown()
        if isinstance(self._meters, SdkMeterProvider):
            self._meters.shutdown()

    def _within_session(self, session_id: str, mode: str) -> Context:
        """Return a context whose current span is the session's, sampled as that span will be."""
        trace = int(trace_id(session_id), 16)
        sampling = self._provider.sampler.should_sample(
            Context(), trace, _session_name(mode), attributes=_sampled_attributes(session_id, mode)
        )
        is_sampled = sampling.decision is Decision.RECORD_AND_SAMPLE
        flags = TraceFlags(TraceFlags.SAMPLED if is_sampled else TraceFlags.DEFAULT)
        parent = SpanContext(trace, int(session_span_id(session_id), 16), is_remote=True, trace_flags=flags)
        return set_span_in_context(NonRecordingSpan(parent), Context())


def _session_name(mode: str) -> str:
    return f"session {mode}"


def _sampled_attributes(session_id: str, mode: str) -> Attributes:
    return {"symposia.session.id": session_id, "symposia.mode": mode, **session_attributes(session_id)}


def _links(start: AttemptStart) -> list[Link]:
    """Return the links to the submitter and the previous attempt; a killed worker never exported the latter."""
    links = _link_to_submitter(start.submitted_in)
    if start.cause is None:
        return links
    previous = attempt_span_id(start.session_id, start.turn, start.attempt - 1)
    context = SpanContext(int(trace_id(start.session_id), 16), int(previous, 16), is_remote=True)
    return [*links, Link(context, {"symposia.cause": start.cause.value})]


def _link_to_submitter(submitted_in: str | None) -> list[Link]:
    """Return the link to the span in which the session was submitted."""
    if submitted_in is None:
        return []
    _, trace, span, flags = submitted_in.split("-")
    context = SpanContext(
        int(trace, 16), int(span, 16), is_remote=True, trace_flags=TraceFlags(int(flags, 16))
    )
    return [Link(context, {"symposia.cause": _SUBMISSION})]


def _record_end(span: Span, end: AttemptEnd) -> None:
    span.set_attribute("symposia.outcome", end.outcome)
    if end.usage is not None:
        span.set_attributes(_usage_attributes(end.usage))
    if end.child is not None:
        child = SpanContext(int(trace_id(end.child), 16), int(session_span_id(end.child), 16), is_remote=True)
        span.add_link(child, {"symposia.cause": _SUBSESSION})
        span.set_attribute("symposia.child.session.id", end.child)  # some collectors show no links
    if end.outcome in _ERRORS:
        error = end.error or AttemptError("")
        _record_error(span, excerpt(error.text, MAX_CHARS), error)


def _record_error(span: Span, status: str, error: AttemptError) -> None:
    """Record an error as the status, the class and the event that OpenTelemetry defines for exceptions."""
    span.set_status(StatusCode.ERROR, status)
    span.set_attribute(ERROR_TYPE, error.kind)
    if error.kind != OTHER_ERROR:
        # The end of a traceback has the line that raised.
        texts = {EXCEPTION_MESSAGE: error.text, EXCEPTION_STACKTRACE: error.stack[-MAX_ATTRIBUTE_CHARS:]}
        event = {EXCEPTION_TYPE: error.kind, **{name: text for name, text in texts.items() if text}}
        span.add_event("exception", event)


def _usage_attributes(usage: Usage) -> Attributes:
    return {
        "symposia.tokens.input": usage.input_tokens,
        "symposia.tokens.output": usage.output_tokens,
        "symposia.cost_usd": usage.cost_micros / 1e6,
    }


def _nanoseconds(ms: int) -> int:
    return ms * 1_000_000
