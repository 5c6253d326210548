"""Settings of an agent that reach its model: thinking, tools of the provider, corrections; and unknown ones."""

from __future__ import annotations

import pytest

from scaling import patient
from servers.model_stub import completion
from symposia.agents.registry.registry import Registry
from symposia.models.errors import AgentFailed, RegistryError
from symposia.models.sessions.options import AgentBinding

pytestmark = pytest.mark.real_models


@pytest.fixture
def load(tmp_path, model):
    def loaded(lines, name="openai-responses:gpt-5"):
        path = tmp_path / "agents.toml"
        path.write_text(
            f'[models.m]\nmodel = "{name}"\nbase_url = "{model.url}"\nstructured = false\n'
            f'[agents.ada]\nkind = "llm"\nmodel = "m"\n{lines}\n'
        )
        return Registry.load(path)

    return loaded


@pytest.fixture
def speak(load, runner, turn):
    def spoken(lines, **more):
        agent = load(lines, **more).get_agent(AgentBinding(agent="ada"))
        return runner.start(agent, turn(timeout_s=patient(20)), timeout_s=patient(20)).result()

    return spoken


@pytest.mark.parametrize(
    ("lines", "field", "sent"),
    [
        ('thinking = "low"', "reasoning", {"effort": "low"}),
        ("thinking = false", "reasoning", {"effort": "minimal"}),
        (
            'provider_tools = ["web_search"]',
            "tools",
            [{"type": "web_search", "search_context_size": "medium"}],
        ),
    ],
)
def test_settings_of_an_agent_reach_the_provider(speak, model, lines, field, sent):
    speak(lines)
    assert model.asked[0].body[field] == sent


def test_tool_that_the_provider_lacks_is_refused(speak, model):
    with pytest.raises(AgentFailed, match=r"[Ww]eb_?[Ss]earch") as failed:
        speak('provider_tools = ["web_search"]', name="m")
    assert (failed.value.retryable, model.asked) == (False, [])


@pytest.mark.parametrize(("retries", "requests"), [(0, 1), (2, 3)])
def test_wrong_answers_are_corrected_as_often_as_set(speak, model, retries, requests):
    model.answers(completion(""))
    with pytest.raises(AgentFailed):
        speak(f"output_retries = {retries}", name="m")
    assert len(model.asked) == requests


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ('thinking = "much"', "thinking"),
        ('provider_tools = ["web_serch"]', "provider_tools"),
        ("output_retries = 11", "output_retries"),
        ("settings = {top_pp = 0.5}", r"unknown model setting 'top_pp' \(top_p"),
        ("settings = {temperature = 0.5}", "must not have 'temperature'; use the field temperature"),
        ("thinkin = true", "thinking"),
    ],
)
def test_unknown_settings_are_refused(load, lines, problem):
    with pytest.raises(RegistryError, match=problem):
        load(lines)


def test_unknown_settings_of_a_provider_are_reported(load):
    registry = load("settings = {openai_reasoning_efort = 1, openai_service_tier = 'flex', anthropic_x = 1}")
    problems = [str(problem) for problem in registry.check()]
    assert ["(openai_reasoning_effort" in text for text in problems] == [True, False]
    assert "unknown model setting 'anthropic_x'" in problems[1]
