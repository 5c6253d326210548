"""The documented settings of Langfuse, Logfire and Grafana Tempo, with a receiver in the place of their servers.

A page's variables are set as they are written, with the address of the receiver. Each attribute that a page names must
arrive.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import symposia
from live import mood, result_of
from scaling import patient
from servers.model_stub import StubModel, completion
from servers.otlp_receiver import OtlpReceiver
from symposia.models.sessions.stop_conditions import MaxTurns

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]

MODELS = """
[models.stub]
model = "stub"
base_url = "{url}"
retries = 0

[tools.look]
callable = "stub_agents.traces:look"

[agents.model]
kind = "llm"
model = "stub"
tools = ["look"]
"""
DOCS = Path(symposia.__file__).parent / "docs"
#: A page, and which of its settings.
SETTINGS = [("langfuse", 0), ("logfire", 0), ("tempo", 0), ("tempo", 1)]
_SETTINGS = re.compile(r"(?:^    OTEL_.*\n)+", re.MULTILINE)
_ATTRIBUTE = re.compile(r"\b(?:session|gen_ai|error|exception)\.[a-z_.]*[a-z]")


def settings_of(page: str, number: int) -> dict[str, str]:
    lines = _SETTINGS.findall(page)[number].splitlines()
    return dict(shlex.split(line)[0].split("=", 1) for line in lines)


@pytest.mark.parametrize(("name", "number"), SETTINGS)
def test_documented_settings_and_attributes(installation, model: StubModel, monkeypatch, name, number):
    page = (DOCS / f"{name}.md").read_text()
    settings = settings_of(page, number)
    path = urlsplit(settings["OTEL_EXPORTER_OTLP_ENDPOINT"]).path
    with OtlpReceiver().serve() as receiver:
        for variable, value in settings.items():
            monkeypatch.setenv(variable, value)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url + path)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        worker = installation.start_worker()
        model.answers(completion(tool=("look", {"place": "the shelf"})), completion("all is well"))
        job = installation.submit(
            "round_robin",
            {"ann": "model", "bob": "moody"},
            stop=MaxTurns(2),
            policies={"bob": {"attempts": 1, "then": "skip"}},
            parameters={"fails": 9},
        )
        assert result_of(job, timeout_s=60).ok
        spans = receiver.complete_trace(job.id, 7)
        worker.ask_to_stop()
        worker.process.wait(patient(30))
    signals = ("traces", "metrics") if "OTEL_METRICS_EXPORTER" in settings else ("traces",)
    assert receiver.paths == {f"{path}/v1/{signal}" for signal in signals}
    sent = {key.lower(): value for key, value in receiver.headers[0].items()}
    for header in filter(None, settings.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(",")):
        key, _, value = header.partition("=")
        assert sent[key.lower()] == value

    assert {it.attributes["session.id"] for it in spans} == {job.id}
    assert {it.attributes["gen_ai.conversation.id"] for it in spans} == {job.id}
    (failed,) = [it for it in spans if it.name == "turn bob"]
    assert (failed.error, failed.attributes["error.type"]) == (mood(1), "RuntimeError")
    ((event, exception),) = failed.events
    assert (event, exception["exception.type"]) == ("exception", "RuntimeError")
    assert 'raise RuntimeError(f"mood' in exception["exception.stacktrace"]
    named = {attribute for it in (*spans, failed) for attribute in it.attributes} | set(exception)
    assert set(_ATTRIBUTE.findall(page)) <= named
    assert {f"invoke_agent {'model'}", "chat stub", "execute_tool look"} <= {it.name for it in spans}
