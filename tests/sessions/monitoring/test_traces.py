"""Traces of sessions on real workers, as a collector receives them over HTTP."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import TracerProvider

from live import mood, result_of, until
from scaling import patient
from servers.model_stub import StubModel, completion, refusal
from servers.otlp_receiver import OtlpReceiver
from symposia.models.protocol.collab import Collab
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns
from symposia.models.text.ids import attempt_span_id, session_span_id

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]

MODELS = """
[models.stub]
model = "stub"
base_url = "{url}"
retries = 0
input_usd_per_million = 2
output_usd_per_million = 10

[tools.look]
callable = "stub_agents.traces:look"

[agents.model]
kind = "llm"
model = "stub"
tools = ["look"]

[agents.modules]
kind = "python"
callable = "stub_agents.traces:modules"
"""
SESSIONS = {
    "round_robin": ({"ann": "say", "bob": "say"}, {"stop": MaxRounds(1)}),
    "orchestrated": ({"orchestrator": "lead", "coder": "say", "tester": "say", "writer": "say"}, {}),
    "pair": ({"driver": "say", "navigator": "navigator"}, {}),
    "broadcast": ({"ann": "say", "bob": "say", "sum": "say"}, {"options": {"aggregator": "sum"}}),
    "swarm": ({"ann": "claimer", "bob": "claimer"}, {"options": {"items": [{"text": "paint"}]}}),
}


@pytest.fixture
def collector(monkeypatch):
    with OtlpReceiver().serve() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=not-for-the-log")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        yield receiver


def test_a_session_in_each_mode_is_one_trace(installation, collector):
    installation.start_workers(2)
    for mode, (agents, options) in SESSIONS.items():
        job = installation.submit(mode, agents, **options)
        result = result_of(job)
        root, *turns = collector.complete_trace(job.id, result.turns + 1)
        assert (root.name, root.id, root.parent) == (f"session {mode}", session_span_id(job.id), "")
        assert root.error is None
        assert {root.attributes[f"symposia.{it}"] for it in ("status", "reason")} == {
            "completed",
            result.reason,
        }
        assert [it.id for it in sorted(turns, key=lambda it: it.attributes["symposia.turn"])] == [
            attempt_span_id(job.id, number, 1) for number in range(1, result.turns + 1)
        ]
        assert {it.parent for it in turns} == {root.id}
        assert {it.attributes["symposia.outcome"] for it in turns} == {"message"}
        assert all(it.name == f"turn {it.attributes['symposia.participant']}" for it in turns)
        assert {it.service for it in (root, *turns)} == {"symposia"}
        wire = job.collab().to_wire()["trace"]
        assert wire["trace_id"] == job.id
        assert wire["span_id"].replace("-", "")[16:] == root.id
    ids = [(it.trace, it.id) for it in collector.received]
    assert len(ids) == len(set(ids)), "every span is exported once"


def test_model_and_tool_spans_are_below_their_turn(installation, collector, model: StubModel):
    worker = installation.start_worker()
    model.answers(completion(tool=("look", {"place": "the shelf"})), completion("all is well"))
    job = installation.submit("round_robin", {"ann": "model"}, stop=MaxTurns(1))
    assert result_of(job, timeout_s=60).ok
    spans = collector.complete_trace(job.id, 6)
    parents = {it.id: it for it in spans}
    tree = {(it.name, parents[it.parent].name if it.parent else None) for it in spans}
    assert tree == {
        ("session round_robin", None),
        ("turn ann", "session round_robin"),
        ("invoke_agent model", "turn ann"),
        ("chat stub", "invoke_agent model"),
        ("execute_tool look", "invoke_agent model"),
    }
    (turn,) = [it for it in spans if it.name == "turn ann"]
    assert turn.attributes["symposia.tokens.input"] == 22
    assert turn.attributes["symposia.cost_usd"] == pytest.approx(22 * 2e-6 + 14 * 10e-6)
    chats = [it for it in spans if it.name == "chat stub"]
    assert [it.attributes["gen_ai.usage.input_tokens"] for it in chats] == [11, 11]
    told = str([it.attributes for it in spans])
    assert "gen_ai.tool.definitions" not in told
    assert "the shelf" not in told
    assert "all is well" not in told
    assert "not-for-the-log" not in worker.log()
    assert "HTTP Request" not in worker.log()


def test_failed_model_request_is_an_exception_without_secrets(
    installation, collector, model: StubModel, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-the-collector")
    installation.start_worker()
    model.answers(refusal(400, "no such key: sk-not-for-the-collector"))
    job = installation.submit("round_robin", {"ann": "model"}, stop=MaxTurns(1), policy={"attempts": 1})
    assert not result_of(job, timeout_s=60).ok
    root, turn = collector.complete_trace(job.id, 4)[:2]
    assert root.attributes["error.type"] == "failed"
    assert turn.attributes["error.type"].startswith("pydantic_ai.exceptions.Model")
    ((_, exception),) = turn.events
    assert turn.attributes["error.type"] in exception["exception.stacktrace"]
    assert "not-for-the-collector" not in str(collector.received)


def test_metrics_are_exported_on_request(installation, collector, model: StubModel, monkeypatch):
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "otlp")
    worker = installation.start_worker()
    model.answers(completion("all is well"))
    job = installation.submit("round_robin", {"ann": "model"}, stop=MaxTurns(1))
    assert result_of(job).ok
    collector.complete_trace(job.id, 4)
    worker.ask_to_stop()
    wanted = {"symposia.turn.duration", "symposia.sessions.ended", "gen_ai.client.token.usage"}
    until(lambda: wanted <= collector.metrics, what="the metrics of the session")


def test_content_is_exported_on_request(installation, collector, model: StubModel, monkeypatch):
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    installation.start_worker()
    model.answers(completion("all is well"))
    job = installation.submit("round_robin", {"ann": "model"}, stop=MaxTurns(1))
    assert result_of(job, timeout_s=60).ok
    spans = collector.complete_trace(job.id, 4)
    told = str([it.attributes for it in spans])
    assert "all is well" in told
    assert "Look at a place." in told, "the description of the tool"


def test_a_retried_turn_links_to_the_failed_attempt(installation, collector):
    installation.start_worker()
    job = installation.submit(
        "round_robin",
        {"ann": "moody", "bob": "moody"},
        stop=MaxTurns(2),
        policy={"attempts": 2, "backoff_s": 0.05},
        policies={"bob": {"attempts": 1, "then": "skip"}},
        parameters={"fails": 1},
    )
    result_of(job)
    turns = [it for it in collector.complete_trace(job.id, 4) if it.parent]
    first, second, skipped = turns
    assert (first.error, first.attributes["symposia.outcome"]) == (mood(1), "failed")
    assert (second.error, second.attributes["symposia.attempt"]) == (None, 2)
    assert second.links == ((first.id, "retry"),)
    assert (skipped.attributes["symposia.outcome"], skipped.error) == ("skipped", mood(1))


def test_takeover_links_to_the_killed_attempt(installation, collector):
    gate = installation.folder / "gate"
    first = installation.start_worker()
    job = installation.submit(
        "round_robin",
        {"ann": "gated", "bob": "gated"},
        stop=MaxTurns(3),
        parameters={"gate": str(gate), "gate_turn": 2},
    )
    until(lambda: [c for c in installation.calls() if c["turn"] == 2], what="turn 2 is being spoken")
    collector.complete_trace(job.id, 1)
    installation.start_worker()
    first.kill()
    gate.touch()
    assert result_of(job, timeout_s=60).ok
    turns = [it for it in collector.complete_trace(job.id, 4) if it.parent]
    assert [(it.attributes["symposia.turn"], it.attributes["symposia.attempt"]) for it in turns] == [
        (1, 1),
        (2, 2),
        (3, 1),
    ]
    assert turns[1].links == ((attempt_span_id(job.id, 2, 1), "takeover"),)


def test_session_links_to_the_span_that_submitted_it(installation, collector):
    installation.start_worker()
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("program")
    collab = Collab(
        title="A session", purpose="be linked", mode="round_robin", participants=[{"participant_id": "ann"}]
    )
    how = {
        "agents": {"ann": "say"},
        "stop": MaxTurns(2),
        "parameters": {"log": str(installation.folder / "calls.jsonl")},
    }
    with tracer.start_as_current_span("request") as span:
        job = installation.client.submit(collab, **how)
    assert installation.client.submit(collab, **how).id == job.id, "the span is no part of the submission"
    submitter = format(span.get_span_context().span_id, "016x")
    assert result_of(job).ok
    assert [it.links for it in collector.complete_trace(job.id, 3)] == [((submitter, "submission"),)] * 3


def test_a_turn_and_its_subsession_link_to_each_other(installation, collector):
    installation.start_worker()
    team = {
        "title": "A team",
        "purpose": "Answer.",
        "mode": "round_robin",
        "participants": [{"participant_id": "bob", "agent": "say"}],
        "stop": {"max_turns": 1},
    }
    job = installation.submit("round_robin", {"team": {"session": team}}, stop=MaxTurns(1), messages=["Go."])
    assert result_of(job).ok
    (child,) = job.children()
    (_, turn), (root, _) = collector.complete_trace(job.id, 2), collector.complete_trace(child.id, 2)
    assert turn.links == ((root.id, "subsession"),)
    assert root.links == ((turn.id, "submission"),)
    assert turn.attributes["symposia.child.session.id"] == child.id
    assert root.attributes["symposia.parent.session.id"] == job.id


def test_failed_and_cancelled_sessions_have_a_span(installation, collector):
    installation.start_worker()
    failed = installation.submit(
        "pair", {"ann": "moody", "bob": "say"}, policy={"attempts": 1}, parameters={"fails": 9}
    )
    result_of(failed)
    root, turn = collector.complete_trace(failed.id, 2)
    assert root.error == f"failed: ann: {mood(1)}"
    assert turn.attributes["symposia.outcome"] == "failed"
    gate = installation.folder / "gate"
    cancelled = installation.submit(
        "round_robin", {"ann": "gated"}, stop=MaxTurns(3), parameters={"gate": str(gate)}
    )
    until(lambda: any(c["me"] == "ann" and c["expects"] for c in installation.calls()), what="it speaks")
    cancelled.cancel()
    gate.touch()
    roots = until(
        lambda: [it for it in collector.trace_of(cancelled.id) if not it.parent], what="its span is exported"
    )
    assert [(it.error, it.attributes["symposia.reason"]) for it in roots] == [(None, "cancelled")]


@pytest.mark.parametrize("pool", ["threads", "processes"])
def test_a_worker_that_stops_exports_the_last_spans(installation, collector, monkeypatch, pool):
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "600000")
    worker = installation.start_worker(concurrency=1, options=("--pool", pool))
    job = installation.submit("round_robin", {"ann": "say"}, stop=MaxTurns(2))
    result_of(job)
    assert collector.trace_of(job.id) == []
    worker.ask_to_stop()
    assert len(collector.complete_trace(job.id, 3)) == 3


def test_a_collector_that_fails_delays_no_turn(installation, collector):
    collector.status = 503
    installation.start_worker()
    job = installation.submit("round_robin", {"ann": "say"}, stop=MaxTurns(3))
    assert result_of(job).ok


def test_unresponsive_collector_delays_nothing(installation, collector):
    collector.gate.clear()
    worker = installation.start_worker()
    job = installation.submit("round_robin", {"ann": "say"}, stop=MaxTurns(3))
    assert result_of(job).ok
    until(lambda: collector.headers, what="an export waits")
    worker.ask_to_stop()
    worker.process.wait(patient(25))


def test_tracing_is_not_imported_without_its_variables(installation, monkeypatch, model):
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    installation.start_worker()
    job = installation.submit("round_robin", {"ann": "modules"}, stop=MaxTurns(1))
    result_of(job)
    (message,) = job.messages()
    assert message.content == "modules: []"
