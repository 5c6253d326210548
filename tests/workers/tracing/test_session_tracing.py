"""Spans of attempts and sessions, with an exporter in memory."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from types import SimpleNamespace

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, TraceIdRatioBased
from opentelemetry.trace import StatusCode

from symposia.config.standard_variables import TelemetrySettings
from symposia.models.protocol.collab import CollabStatus
from symposia.models.text.ids import attempt_span_id, new_id, session_span_id, trace_id
from symposia.models.turns.turn import Usage
from symposia.tasks.ports import AttemptEnd, AttemptError, AttemptStart, Cause, active_span
from symposia.workers.tracing.provider import MAX_ATTRIBUTE_CHARS, DerivedIds, build_provider
from symposia.workers.tracing.session_tracing import SessionTracing
from symposia.workers.tracing.setup import find_problem, start_tracing
from symposia.workers.tracing.turn_spans import TurnTracers

NO_DISK = AttemptError("no disk", "OSError")
FACTS = {"participants": ("ann", "bob")}
STATE = {
    "opened_ms": 1_000,
    "started_ms": 1_000,
    "ended_ms": 5_000,
    "now_ms": 6_000,
    "closed": 2,
    "messages": 3,
    "detail": "",
}


class Traced:
    """Tracing whose spans stay in memory."""

    #: Span in which the session was submitted.
    submitted_in: str | None = None

    def __init__(self, sampler=None) -> None:
        ids, self.exporter = DerivedIds(), InMemorySpanExporter()
        self.provider = TracerProvider(sampler=sampler, id_generator=ids, shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.tracing = SessionTracing(self.provider, ids, MeterProvider([self.reader]))
        self.session = new_id()

    def start(self, **more: object) -> AttemptStart:
        fields = {"turn": 1, "participant": "ann", "attempt": 1, "agent": "say", "task_id": "t", **more}
        return AttemptStart(session_id=self.session, mode="pair", **fields)

    def run(self, end: AttemptEnd, **more: object):
        with self.tracing.attempt(self.start(**more)) as record_end:
            record_end(end)
        return self.exporter.get_finished_spans()[-1]

    def end_session(self, status=CollabStatus.COMPLETED, reason="approved", **more: object):
        mode = SimpleNamespace(mode=SimpleNamespace(value="pair"))
        spec = SimpleNamespace(submitted_in=self.submitted_in, parent=None)
        facts = SimpleNamespace(session_id=self.session, collab=mode, spec=spec, **FACTS)
        usage = Usage(input_tokens=3, output_tokens=4, cost_micros=5)
        state = SimpleNamespace(**{**STATE, "status": status, "reason": reason, "usage": usage, **more})
        self.tracing.end_session(facts, state)
        return next(reversed(self.exporter.get_finished_spans()), None)


def test_ids_are_derived_from_the_session():
    traced = Traced()
    turn = traced.run(AttemptEnd("message"), turn=3)
    root = traced.end_session()
    assert format(turn.context.trace_id, "032x") == trace_id(traced.session)
    assert format(turn.context.span_id, "016x") == attempt_span_id(traced.session, 3, 1)
    assert format(root.context.span_id, "016x") == session_span_id(traced.session)
    assert (turn.parent.span_id, turn.parent.trace_id) == (root.context.span_id, root.context.trace_id)
    assert root.parent is None
    assert (root.start_time, root.end_time) == (1_000_000_000, 5_000_000_000)
    assert root.attributes["symposia.cost_usd"] == 5e-6


def test_child_spans_get_their_own_ids_in_any_thread():
    traced = Traced()
    tracer = traced.provider.get_tracer("below")

    def below() -> None:
        with tracer.start_as_current_span("below"):
            pass

    with traced.tracing.attempt(traced.start()), ThreadPoolExecutor(1) as pool:
        pool.submit(copy_context().run, below).result()
        below()
    first, second, turn = traced.exporter.get_finished_spans()
    assert {it.parent.span_id for it in (first, second)} == {turn.context.span_id}
    assert len({it.context.span_id for it in (first, second, turn)}) == 3


def test_spans_link_to_the_span_that_submitted_the_session():
    traced = Traced()
    with traced.provider.get_tracer("program").start_as_current_span("submitter") as submitter:
        traced.submitted_in = active_span()
    assert active_span() is None
    attempt = traced.run(AttemptEnd("message"), submitted_in=traced.submitted_in)
    again = traced.run(AttemptEnd("message"), attempt=2, cause=Cause.RETRY, submitted_in=traced.submitted_in)
    root = traced.end_session()
    for span in (attempt, again, root):
        link = span.links[0]
        assert link.context.trace_id == submitter.get_span_context().trace_id
        assert (link.context.span_id, link.context.trace_flags) == (submitter.get_span_context().span_id, 1)
        assert dict(link.attributes) == {"symposia.cause": "submission"}
    assert [len(it.links) for it in (attempt, again, root)] == [1, 2, 1]


@pytest.mark.parametrize("cause", list(Cause))
def test_another_attempt_links_to_the_one_before(cause):
    traced = Traced()
    first = traced.run(AttemptEnd("failed", NO_DISK))
    second = traced.run(AttemptEnd("message"), attempt=2, cause=cause)
    assert [(it.context.span_id, dict(it.attributes)) for it in second.links] == [
        (first.context.span_id, {"symposia.cause": cause.value})
    ]
    assert not first.links


def test_only_a_failed_attempt_has_an_error():
    traced = Traced()
    error = AttemptError("no disk " * 1_000, "shop.NoDisk", "Traceback\n" * 1_000 + "the line")
    failed = traced.run(AttemptEnd("failed", error, Usage(input_tokens=7)))
    assert failed.status.status_code is StatusCode.ERROR
    assert len(failed.status.description) <= 200
    assert failed.attributes["error.type"] == "shop.NoDisk"
    (event,) = failed.events
    assert (event.name, event.attributes["exception.type"]) == ("exception", "shop.NoDisk")
    assert event.attributes["exception.stacktrace"].endswith("the line"), "its end is kept"
    assert failed.attributes["symposia.tokens.input"] == 7
    for outcome in ("message", "passed", "parked", "lost"):
        span = traced.run(AttemptEnd(outcome))
        assert (span.status.status_code, len(span.events)) == (StatusCode.UNSET, 0)
    lost = traced.run(AttemptEnd("failed", AttemptError("8 workers were lost")))
    assert (lost.attributes["error.type"], len(lost.events)) == ("_OTHER", 0), "no exception caused it"


def test_attempt_that_raises_has_an_error_span():
    traced = Traced()
    with pytest.raises(ConnectionError), traced.tracing.attempt(traced.start()):
        raise ConnectionError("redis is away")
    (span,) = traced.exporter.get_finished_spans()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "ConnectionError")
    assert dict(span.events[0].attributes) == {"exception.type": "ConnectionError"}, (
        "its text may hold a secret"
    )


def test_spans_below_a_turn_name_its_session_and_agent():
    traced = Traced()
    tracer = TurnTracers(traced.provider).get_tracer("pydantic-ai")
    given = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "symposia",
        "agent_name": "symposia",
    }
    with (
        traced.tracing.attempt(traced.start(agent="claude")),
        tracer.start_as_current_span("invoke_agent symposia", attributes=given),
    ):
        tracer.start_span("chat").end()
    chat, run, turn = traced.exporter.get_finished_spans()
    assert run.name == "invoke_agent claude"
    assert (run.attributes["agent_name"], run.attributes["logfire.msg"]) == ("claude", "claude run")
    for span in (chat, run, turn):
        assert span.attributes["session.id"] == span.attributes["gen_ai.conversation.id"] == traced.session
        assert span.attributes["gen_ai.agent.name"] == "claude"


def test_a_turn_links_to_its_subsession():
    traced, child = Traced(), new_id()
    span = traced.run(AttemptEnd("parked", child=child))
    (link,) = span.links
    assert format(link.context.trace_id, "032x") == trace_id(child)
    assert format(link.context.span_id, "016x") == session_span_id(child)
    assert dict(link.attributes) == {"symposia.cause": "subsession"}
    assert span.attributes["symposia.child.session.id"] == child


@pytest.mark.parametrize(
    ("status", "reason", "is_error"),
    [
        (CollabStatus.COMPLETED, "approved", False),
        (CollabStatus.CANCELLED, "cancelled", False),
        (CollabStatus.CANCELLED, "failed", True),
    ],
)
def test_session_span_has_a_status(status, reason, is_error):
    span = Traced().end_session(status, reason, detail="ann: no disk")
    assert (span.status.status_code is StatusCode.ERROR) is is_error
    assert span.status.description == ("failed: ann: no disk" if is_error else None)
    assert span.attributes.get("error.type") == ("failed" if is_error else None)
    assert span.attributes["gen_ai.operation.name"] == "invoke_workflow"


def test_metrics_count_attempts_and_sessions():
    traced = Traced()
    traced.run(AttemptEnd("message"))
    traced.run(AttemptEnd("failed", NO_DISK), turn=2)
    traced.end_session()
    (resource,) = traced.reader.get_metrics_data().resource_metrics
    metrics = {it.name: it.data.data_points for it in resource.scope_metrics[0].metrics}
    turns = {it.attributes["symposia.outcome"]: it.count for it in metrics["symposia.turn.duration"]}
    assert turns == {"message": 1, "failed": 1}
    (ended,) = metrics["symposia.sessions.ended"]
    assert (ended.value, dict(ended.attributes)) == (
        1,
        {"symposia.mode": "pair", "symposia.status": "completed"},
    )


def test_names_of_any_length_are_cut():
    span = Traced().run(AttemptEnd("message"), participant="a" * 5_000, agent="b" * 5_000)
    assert max(len(span.name), *(len(str(it)) for it in span.attributes.values())) < 300


def test_a_session_that_is_not_sampled_has_no_span():
    traced = Traced(ParentBased(ALWAYS_OFF))
    with traced.tracing.attempt(traced.start()) as record_end:
        record_end(AttemptEnd("message", usage=Usage()))
    assert traced.end_session() is None


def test_sampling_keeps_whole_sessions():
    for _ in range(50):
        traced = Traced(ParentBased(TraceIdRatioBased(0.5)))
        for number in (1, 2):
            with traced.tracing.attempt(traced.start(turn=number)):
                pass
        traced.end_session()
        assert len(traced.exporter.get_finished_spans()) in (0, 3)


def test_tracing_error_does_not_fail_the_turn(caplog):
    traced = Traced()
    traced.session = "no session id"
    with traced.tracing.attempt(traced.start()) as record_end:
        record_end(AttemptEnd("message", usage=Usage()))
    traced.tracing.end_session(SimpleNamespace(session_id="no session id"), SimpleNamespace())
    assert [it.levelname for it in caplog.records] == ["ERROR", "ERROR"]


def test_span_texts_are_limited_by_default(monkeypatch):
    settings = TelemetrySettings(exporters=())

    def length() -> int:
        provider = build_provider(settings, DerivedIds())
        span = provider.get_tracer("t").start_span("s", attributes={"a": "x" * 10_000})
        provider.shutdown()
        return len(span.attributes["a"])

    assert length() == MAX_ATTRIBUTE_CHARS
    monkeypatch.setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "10")
    assert length() == 10


def test_the_name_of_the_service_can_be_configured(monkeypatch):
    provider = build_provider(TelemetrySettings(exporters=()), DerivedIds())
    assert provider.resource.attributes["service.name"] == "symposia"
    monkeypatch.setenv("OTEL_SERVICE_NAME", "shop")
    provider = build_provider(TelemetrySettings(exporters=(), has_service_name=True), DerivedIds())
    assert provider.resource.attributes["service.name"] == "shop"


def test_missing_otel_package_is_reported_in_one_line(monkeypatch, caplog):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk", None)
    assert start_tracing() is None
    (record,) = caplog.records
    assert record.getMessage() == (
        "sessions are not traced: OTEL_* variables are set, but OpenTelemetry is not installed;"
        " try: pip install 'symposia[otel]'"
    )


def test_an_unknown_exporter_is_named():
    problem = find_problem(TelemetrySettings(exporters=("zipkin_proto",)))
    assert problem is not None
    assert problem.text.startswith("the exporter 'zipkin_proto' is not installed (installed: console,")


def test_an_exporter_outside_of_the_extra_has_its_own_command():
    problem = find_problem(TelemetrySettings(exporters=("otlp_proto_grpc",)))
    assert problem is not None
    assert problem.command == "pip install opentelemetry-exporter-otlp-proto-grpc"
