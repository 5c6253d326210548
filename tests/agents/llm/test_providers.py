"""Which API an endpoint is called with, and what a probe of the endpoints reports."""

from __future__ import annotations

import socket

import pytest

from scaling import patient
from servers.model_stub import completion, refusal
from symposia.agents.llm.agent import LLMAgent
from symposia.agents.llm.clients import Endpoint
from symposia.agents.llm.probe import probe_models
from symposia.agents.llm.settings import LLMSettings, ModelSource
from symposia.agents.registry.registry import Registry
from symposia.models.errors import AgentFailed

pytestmark = pytest.mark.real_models


@pytest.mark.parametrize(
    ("name", "path", "model_name"),
    [
        ("m", "/v1/chat/completions", "m"),
        ("qwen3:8b", "/v1/chat/completions", "qwen3:8b"),
        ("mistral:7b", "/v1/chat/completions", "mistral:7b"),
        ("openai-chat:m", "/v1/chat/completions", "m"),
        ("openai-chat:qwen3:8b", "/v1/chat/completions", "qwen3:8b"),
        ("ollama:qwen3:8b", "/v1/chat/completions", "qwen3:8b"),
        ("vllm:m", "/v1/chat/completions", "m"),
        ("openai:m", "/v1/responses", "m"),
        ("openai-responses:m", "/v1/responses", "m"),
        ("anthropic:m", "/v1/v1/messages", "m"),
        ("google:m", "/v1/v1beta/models/m:generateContent", None),
    ],
)
def test_endpoint_is_called_with_the_api_of_its_provider(
    runner, turn, model, monkeypatch, name, path, model_name
):
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(variable, "sk-of-the-provider")
    model.answers(refusal(400, "no"))
    agent = LLMAgent(lambda: [ModelSource(Endpoint(name, model.url))], LLMSettings())
    with pytest.raises(AgentFailed, match="HTTP 400"):
        runner.run(agent, turn(), timeout_s=patient(20))
    [asked] = model.asked
    assert (asked.path, asked.body.get("model")) == (path, model_name)
    assert "sk-of-the-provider" not in str(asked.headers)


def test_provider_without_another_url_is_refused(runner, turn, model):
    agent = LLMAgent(lambda: [ModelSource(Endpoint("cohere:m", model.url))], LLMSettings())
    with pytest.raises(AgentFailed, match="possible: anthropic, google,") as failed:
        runner.run(agent, turn(), timeout_s=patient(20))
    assert str(failed.value).endswith("write openai-chat:cohere:m")
    assert (failed.value.retryable, model.asked) == (False, [])


def test_check_reports_a_provider_without_another_url(tmp_path):
    (tmp_path / "agents.toml").write_text(
        '[models.far]\nmodel = "cohere:m"\nbase_url = "http://127.0.0.1:9/v1"\n'
        '[agents.ada]\nkind = "llm"\nmodel = "far"\n'
    )
    [problem] = Registry.load(tmp_path / "agents.toml").check()
    assert "[models.far] model: base_url: the API of cohere has no other URL here" in str(problem)


def test_probe_reports_each_endpoint(model):
    model.answers(completion("Hi"), refusal(401, "sk-house-1 is no key"))
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        [good] = probe_models({"good": ModelSource(Endpoint("m", model.url))})
        bad, away, far = probe_models(
            {
                "bad": ModelSource(Endpoint("m", model.url, "sk-house-1")),
                "away": ModelSource(Endpoint("m", url)),
                "far": ModelSource(Endpoint("cohere:m", url)),
            }
        )
    assert (good.problem, model.asked[0].body["max_completion_tokens"]) == (None, 1)
    assert bad.problem is not None
    assert ("HTTP 401" in bad.problem, "*** is no key" in bad.problem) == (True, True)
    assert away.problem is not None
    assert "request to model 'm'" in away.problem
    assert far.problem is not None
    assert far.problem.startswith("base_url: ")


def test_probe_gives_up_on_a_silent_endpoint():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        [result] = probe_models({"silent": ModelSource(Endpoint("m", url))}, timeout_s=0.2)
    assert result.problem is not None
