"""A model agent against a real OpenAI-compatible server with a real model."""

from __future__ import annotations

import pytest

from scaling import patient
from symposia.agents.agent import InMemoryCallJournal, TurnServices
from symposia.agents.llm.agent import LLMAgent
from symposia.agents.llm.clients import Endpoint
from symposia.agents.llm.settings import LLMSettings, ModelSource
from symposia.agents.local_model.server import MODEL_NAME
from symposia.models.errors import AgentFailed, AgentTimeout

#: One server is enough for two cores.
pytestmark = [pytest.mark.real_models, pytest.mark.xdist_group("local-model"), pytest.mark.timeout(240)]


class Ear:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def restart_output(self) -> None:
        self.heard.clear()

    def add_output(self, text: str) -> None:
        self.heard.append(text)


@pytest.fixture
def make(local_model):
    def made(*, before=(), **manner):
        sources = [*(ModelSource(Endpoint(MODEL_NAME, url)) for url in before)]
        sources.append(ModelSource(Endpoint(MODEL_NAME, f"{local_model.url}/v1")))
        manner = {"plain": True, "max_tokens": 16, "temperature": 0.0} | manner
        return LLMAgent(lambda: sources, LLMSettings(**manner))

    return made


def spoken(runner, agent, context, **services):
    return runner.start(
        agent, context, timeout_s=patient(120), turn_services=TurnServices(**services)
    ).result()


def test_real_server_streams_its_message(runner, turn, make):
    ear = Ear()
    outcome = spoken(runner, make(), turn(timeout_s=patient(120)), listener=ear)
    assert len(ear.heard) > 3
    assert "".join(ear.heard).strip().endswith(outcome.messages[0].content)
    assert (outcome.usage.requests, outcome.usage.output_tokens) == (1, 16)
    assert outcome.usage.input_tokens > 10


def test_streaming_costs_the_same_tokens(runner, turn, make):
    streamed = spoken(runner, make(), turn(timeout_s=patient(120)), listener=Ear())
    at_once = spoken(runner, make(), turn(timeout_s=patient(120)))
    assert streamed.usage.output_tokens == at_once.usage.output_tokens
    assert streamed.usage.input_tokens == at_once.usage.input_tokens


def test_real_server_is_not_asked_twice(runner, turn, make):
    journal = InMemoryCallJournal()
    first = spoken(runner, make(temperature=1.0), turn(timeout_s=patient(120)), journal=journal)
    again = spoken(runner, make(temperature=1.0), turn(timeout_s=patient(120)), journal=journal)
    assert again == first


def test_fallback_replaces_a_missing_model(runner, turn, make):
    agent = make(before=["http://127.0.0.1:9/v1"], retries=0)
    assert spoken(runner, agent, turn(timeout_s=patient(120))).messages[0].content


def test_real_server_is_stopped_at_the_deadline(runner, turn, make):
    with pytest.raises(AgentTimeout, match=r"no answer within 0\.2 s"):
        runner.run(make(max_tokens=1_000), turn(timeout_s=60), timeout_s=0.2)


def test_real_server_refusal_is_reported(runner, turn, make):
    with pytest.raises(AgentFailed, match="HTTP 4") as error:
        spoken(runner, make(instructions="word " * 20_000), turn(timeout_s=patient(120)))
    assert not error.value.retryable
