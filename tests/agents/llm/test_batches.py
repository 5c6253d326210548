"""Requests through a provider's batch API: submission, results, prices, lost workers and lost batches."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from pydantic_ai.models._batch_codec import BatchJobError
from pydantic_ai.models.batch import Batch, EncodedBatchRequest
from pydantic_ai.models.test import TestModel

from scaling import patient
from servers.batch_stub import BatchStub
from servers.model_stub import Answer, completion, refusal
from symposia.agents.agent import InMemoryCallJournal, TurnServices
from symposia.agents.llm import provider_batches
from symposia.agents.llm.agent import LLMAgent
from symposia.agents.llm.batches import QUEUE_PAUSE_S
from symposia.agents.llm.clients import Endpoint
from symposia.agents.llm.settings import LLMSettings, ModelSource, Price
from symposia.models.errors import AgentError, AgentFailed
from symposia.models.protocol.dialog import Message, Role

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

    def spoken(journal, *, model="openai:stub-model", number=1, about=None, **settings):
        endpoint = Endpoint(model, provider.url, "sk-key") if isinstance(model, str) else model
        source = ModelSource(endpoint, Price(2.0, 4.0), "stub")
        agent = LLMAgent(lambda: [source], LLMSettings(batch=True, **settings))
        services = TurnServices(journal)
        context = turn(turn_number=number, timeout_s=patient(20), **(about or {}))
        outcome = runner.start(agent, context, timeout_s=patient(20), turn_services=services).result()
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


class LostJobs(TestModel):
    """A model whose batches end as lost ones of Google: reading the results fails."""

    batch_max_requests = 100

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status, self.created = status, 0

    async def batch_encode(self, request):
        return EncodedBatchRequest(custom_id=request.custom_id, group="g", body="{}")

    async def batch_create(self, requests):
        self.created += 1
        details = {"model_name": "m", "provider_name": "p", "group": "g", "request_count": len(requests)}
        job = f"job_{self.created} of {id(self)}"
        return Batch(id=job, status="ended", created_at=datetime.now(UTC), **details)

    async def batch_results(self, _batch):
        raise BatchJobError(self.status, "m", {"error": {"message": "lost"}})


@pytest.mark.parametrize(
    ("status", "batches"), [(504, 3), (499, 3), (400, 1)], ids=["expired", "cancelled", "refused"]
)
def test_batch_that_ends_with_an_error_is_submitted_again_if_it_was_lost(speak, status, batches):
    journal, model = InMemoryCallJournal(), LostJobs(status)
    for _ in range(batches):
        assert speak(journal, model=model)[1].question.batch
    with pytest.raises(AgentFailed, match="lost") as error:
        speak(journal, model=model)
    assert (error.value.retryable, model.created) == (False, batches)


def test_unusable_answer_is_requested_in_another_batch(speak, provider):
    journal = InMemoryCallJournal()
    speak(journal, output_retries=0)
    provider.answers(completion(""), completion("Well said."))
    provider.finish()
    with pytest.raises(AgentFailed, match="maximum output retries") as error:
        speak(journal, output_retries=0)
    assert error.value.retryable
    assert "batch_2" in speak(journal, output_retries=0)[1].question.batch
    provider.finish()
    assert speak(journal, output_retries=0)[1].usage.requests == 2


def test_refused_schema_is_left_out_of_the_next_batch(speak, provider):
    opening = (Message(role=Role.SYSTEM, content="Report."), Message(role=Role.USER, content="    1| x = 1"))
    review = {"review": {"batch": "b", "item": 1, "path": "a.py"}}
    about = {"opening": opening, "messages": opening, "parameters": review}
    journal = InMemoryCallJournal()
    speak(journal, about=about, review_schema=True)
    provider.answers(refusal(400, "text.format is not supported"), completion('{"findings": []}'))
    provider.finish()
    assert "batch_2" in speak(journal, about=about, review_schema=True)[1].question.batch
    provider.finish()
    assert speak(journal, about=about, review_schema=True)[1].messages[0].content == '{"findings": []}'
    formats = [batch.lines[0]["body"].get("text", {}).get("format") for batch in provider.batches]
    assert [form is None for form in formats] == [False, True]


def test_batch_over_the_limit_of_waiting_tokens_is_submitted_later(speak, provider):
    journal = InMemoryCallJournal()
    speak(journal)
    provider.batches[0].error = "token_limit_exceeded"
    provider.finish("failed")
    with pytest.raises(AgentFailed, match=r"batch_1: .* token limit") as error:
        speak(journal)
    assert (error.value.retryable, error.value.retry_after_s) == (True, QUEUE_PAUSE_S)
    assert "batch_2" in speak(journal)[1].question.batch


def test_cancelled_batch_ends_at_the_provider(speak, runner, provider):
    agent, outcome = speak(InMemoryCallJournal())
    runner.call(agent.cancel_batch(outcome.question.batch), timeout_s=10)
    assert provider.batches[0].status == "cancelled"


@pytest.mark.parametrize("method", ["cancel_batch", "has_batch_ended"])
@pytest.mark.parametrize("handle", [{"entry": "stub"}, {"batch": {"group": "{}"}}, {"entry": "another"}])
def test_batch_that_the_model_does_not_know_is_an_error_of_the_agent(speak, runner, handle, method):
    agent, outcome = speak(InMemoryCallJournal())
    stored = json.loads(outcome.question.batch)
    changed = handle if "batch" not in handle else {**stored, "batch": stored["batch"] | handle["batch"]}
    with pytest.raises(AgentError):
        runner.call(getattr(agent, method)(json.dumps(changed)), timeout_s=10)


def test_model_without_a_batch_api_is_refused(speak, provider):
    with pytest.raises(
        AgentFailed, match="has no batch API: models of openai, anthropic and google have one"
    ):
        speak(InMemoryCallJournal(), model="stub-model")
    assert provider.asked == []
