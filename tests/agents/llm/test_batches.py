"""Requests through a provider's batch API: submission, results, prices, lost workers and lost batches."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from servers.batch_stub import BatchStub
from servers.model_stub import Answer, completion, refusal
from symposia.agents.agent import InMemoryCallJournal, TurnServices
from symposia.agents.llm import provider_batches
from symposia.agents.llm.agent import LLMAgent
from symposia.agents.llm.clients import Endpoint
from symposia.agents.llm.settings import LLMSettings, ModelSource, Price
from symposia.models.errors import AgentFailed

pytestmark = pytest.mark.real_models

AGAIN = {"retry_after_ms": "1"}


@pytest.fixture
def provider(monkeypatch):
    monkeypatch.setattr(provider_batches, "GATHER_S", 0.2)
    monkeypatch.setattr(provider_batches, "STATUS_S", 0.0)
    with BatchStub() as stub:
        yield stub


@pytest.fixture
def speak(runner, turn, provider):
    """Speaks a turn of a model agent in a batch, with the journal of earlier attempts."""

    def spoken(journal, *, model="openai:stub-model", number=1, **settings):
        source = ModelSource(Endpoint(model, provider.url, "sk-key"), Price(2.0, 4.0), "stub")
        agent = LLMAgent(lambda: [source], LLMSettings(batch=True, **settings))
        services = TurnServices(journal)
        context = turn(turn_number=number)
        outcome = runner.start(agent, context, timeout_s=20, turn_services=services).result()
        return agent, outcome

    return spoken


def test_answer_comes_from_the_batch_at_its_price(speak, runner, provider):
    journal = InMemoryCallJournal()
    agent, outcome = speak(journal)
    handle = outcome.question.batch
    assert not runner.call(agent.has_batch_ended(handle), timeout_s=10)
    assert speak(journal)[1].question.batch == handle, "an attempt before the end waits for the same batch"
    provider.finish()
    assert runner.call(agent.has_batch_ended(handle), timeout_s=10)
    _, outcome = speak(journal)
    assert outcome.messages[0].content == "Well said."
    assert outcome.usage.cost_micros == round((11 * 2 + 7 * 4) / 2)
    assert (len(provider.batches), provider.asked) == (1, [])
    assert provider.batches[0].lines[0]["body"]["model"] == "stub-model"


def test_turns_that_start_together_share_a_batch(speak, provider):
    journals = [InMemoryCallJournal() for _ in range(3)]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda at: speak(journals[at], number=at + 1), range(3)))
    assert [len(batch.lines) for batch in provider.batches] == [3]
    provider.answers(*(completion(f"answer {at}") for at in range(3)))
    provider.finish()
    answers = {speak(journals[at], number=at + 1)[1].messages[0].content for at in range(3)}
    assert answers == {f"answer {at}" for at in range(3)}


@pytest.mark.parametrize("retries", [0, 2])
def test_batch_without_an_answer_to_its_creation_is_found_again(speak, provider, retries):
    journal, provider.lose_answers = InMemoryCallJournal(), 1
    if retries == 0:
        with pytest.raises(AgentFailed):
            speak(journal, retries=0)
    assert speak(journal, retries=retries)[1].question.batch
    assert len(provider.batches) == 1


@pytest.mark.parametrize("status", ["expired", "cancelled"])
def test_request_of_a_lost_batch_is_submitted_again_a_few_times(speak, provider, status):
    journal = InMemoryCallJournal()
    for _ in range(3):
        assert speak(journal)[1].question.batch
        provider.finish(status)
    with pytest.raises(AgentFailed, match=r"batch_3.*\(submitted 3 times\)") as error:
        speak(journal)
    assert not error.value.retryable
    assert len(provider.batches) == 3


@pytest.mark.parametrize(
    ("answer", "batches"),
    [(refusal(400, "bad request"), 1), (refusal(500, "later"), 2)],
    ids=["final", "transient"],
)
def test_failed_item_of_a_batch(speak, provider, answer: Answer, batches: int):
    journal = InMemoryCallJournal()
    speak(journal, retries=0)
    provider.answers(answer)
    provider.finish()
    if batches == 1:
        with pytest.raises(AgentFailed, match=r"HTTP 400.*bad request"):
            speak(journal, retries=0)
    else:
        assert "batch_2" in speak(journal, retries=0)[1].question.batch
    assert len(provider.batches) == batches


def test_cancelled_batch_ends_at_the_provider(speak, runner, provider):
    agent, outcome = speak(InMemoryCallJournal())
    runner.call(agent.cancel_batch(outcome.question.batch), timeout_s=10)
    assert provider.batches[0].status == "cancelled"


def test_model_without_a_batch_api_is_refused(speak, provider):
    with pytest.raises(
        AgentFailed, match="has no batch API: models of openai, anthropic and google have one"
    ):
        speak(InMemoryCallJournal(), model="stub-model")
    assert provider.asked == []
