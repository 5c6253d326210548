"""Model calls: retries, fallback models, and finished calls that are not repeated."""

from __future__ import annotations

import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.exceptions import ModelHTTPError, ModelRateLimitError

from scaling import patient
from servers.model_stub import StubModel, completion, refusal
from symposia.agents.agent import InMemoryCallJournal, TurnServices
from symposia.agents.llm.agent import LLMAgent
from symposia.agents.llm.clients import Endpoint
from symposia.agents.llm.errors import MAX_PAUSE_S, MAX_RETRY_AFTER_S, retry_pause_s
from symposia.agents.llm.settings import LLMSettings, ModelSource, Price
from symposia.models.errors import AgentFailed, AgentTimeout
from symposia.models.turns.turn import TurnOutcome, Usage

pytestmark = pytest.mark.real_models

KEY = "sk-a-very-secret-key"
AGAIN = {"retry_after_ms": "1"}


@pytest.fixture
def other():
    with StubModel() as stub:
        yield stub.answers(completion("Let me."))


@pytest.fixture
def journal():
    return InMemoryCallJournal()


@pytest.fixture
def speak(runner, turn, model, journal):
    """Speaks a turn of a model agent, with the same journal each time."""

    def spoken(context=None, *, others=(), price=None, timeout_s=None, **manner):
        endpoints = [Endpoint("stub", model.url, KEY), *(Endpoint("other", stub.url) for stub in others)]
        agent = LLMAgent(lambda: [ModelSource(it, price) for it in endpoints], LLMSettings(**manner))
        timeout_s = timeout_s or patient(20)
        context = context or turn(timeout_s=timeout_s)
        return runner.start(agent, context, timeout_s=timeout_s, turn_services=TurnServices(journal)).result()

    return spoken


# -- trying again --------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [408, 429, 500, 502, 503, 529])
def test_temporary_error_is_retried_after_a_pause(speak, model, trouble):
    model.answers(refusal(trouble, "not now", **AGAIN), completion("now"))
    assert speak().messages[0].content == "now"
    assert len(model.asked) == 2


def test_model_retries_are_limited(speak, model):
    model.answers(refusal(500, "not now", **AGAIN))
    with pytest.raises(AgentFailed, match="HTTP 500"):
        speak(retries=3)
    assert len(model.asked) == 4


@pytest.mark.parametrize(
    ("status", "code"), [(it, None) for it in (400, 401, 402, 403, 404, 422)] + [(429, "insufficient_quota")]
)  # fmt: skip
def test_permanent_error_is_not_retried(speak, model, status, code):
    model.answers(refusal(status, "never", code=code, **AGAIN))
    with pytest.raises(AgentFailed, match="never") as error:
        speak(retries=5)
    assert len(model.asked) == 1
    assert not error.value.retryable


def test_retry_after_of_a_provider_delays_the_request(speak, model):
    model.answers(refusal(429, "slow down", retry_after="1"), completion("now"))
    begun = time.monotonic()
    assert speak().messages[0].content == "now"
    assert time.monotonic() - begun >= 1


def test_long_retry_after_is_returned_to_the_worker(speak, model):
    model.answers(refusal(429, "come back in a minute", retry_after="60"))
    with pytest.raises(AgentFailed, match="come back") as error:
        speak()
    assert len(model.asked) == 1
    assert (error.value.retryable, error.value.retry_after_s) == (True, 60)


def test_no_pause_goes_beyond_the_deadline(speak, model):
    model.answers(refusal(503, "wait", retry_after="15"))
    with pytest.raises(AgentFailed, match="HTTP 503"):
        speak(timeout_s=10.0)
    assert len(model.asked) == 1


@pytest.mark.parametrize("trouble", [{"cut": True}, {"pause": threading.Event()}])
def test_cut_or_stalled_answer_is_retried(speak, model, trouble):
    model.answers(completion("well said", **trouble), completion("again"))
    assert speak(request_timeout_s=1.0).messages[0].content == "again"


def test_endless_body_ends_with_the_turn(speak, model, turn):
    model.answers(completion("well said", pause=threading.Event()))
    with pytest.raises(AgentTimeout):
        speak(turn(timeout_s=60), timeout_s=0.5)


@given(
    tries=st.integers(1, 10),
    most=st.integers(1, 10),
    left=st.floats(0, 1e4),
    after=st.none() | st.floats(0, 1e4),
)
def test_retry_pause_is_bounded_by_the_time_left(tries, most, left, after):
    error = ModelHTTPError.for_category(
        ModelRateLimitError, status_code=429, model_name="any", retry_after=after
    )
    pause = retry_pause_s(error, tries=tries, most_tries=most, left_s=left)
    if tries >= most:
        assert pause is None
    elif pause is not None:
        assert pause <= min(left, MAX_RETRY_AFTER_S)
        assert pause == after if after is not None else 0 < pause <= MAX_PAUSE_S
    else:
        assert min(left, MAX_RETRY_AFTER_S) < (MAX_PAUSE_S if after is None else after)


# -- falling back --------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [401, 429, 500])
def test_fallback_model_answers(speak, model, other, status):
    model.answers(refusal(status, "no", **AGAIN))
    assert speak(others=[other], retries=1).messages[0].content == "Let me."
    assert other.asked[0].body["model"] == "other"
    assert len(model.asked) == (1 if status == 401 else 2)


@pytest.mark.parametrize("first", ["openai:m", "groq:m"], ids=["key", "package"])
def test_fallback_model_answers_if_the_first_lacks_something(runner, turn, other, monkeypatch, first):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setitem(sys.modules, "groq", None)
    sources = [ModelSource(it, None) for it in (Endpoint(first), Endpoint("other", other.url))]
    answer = runner.run(LLMAgent(lambda: sources, LLMSettings()), turn(), timeout_s=patient(20))
    assert answer.messages[0].content == "Let me."


def test_api_key_is_not_sent_to_the_fallback_model(speak, model, other):
    model.answers(refusal(401, "no"))
    speak(others=[other])
    assert KEY not in str(other.asked[0].headers)


def test_last_error_is_reported_if_all_models_fail(speak, model, other):
    model.answers(refusal(401, f"{KEY} is no key"))
    other.answers(refusal(500, "broken", **AGAIN))
    with pytest.raises(AgentFailed, match="HTTP 500 from model 'other': broken") as error:
        speak(others=[other], retries=0)
    assert error.value.retryable
    assert KEY not in str(error.value)


# -- the journal ---------------------------------------------------------------------------------


def test_stored_answer_is_not_requested_again(speak, model):
    first = speak(price=Price(input=1, output=2))
    assert speak(price=Price(input=1, output=2)) == first
    assert first.usage == Usage(input_tokens=11, output_tokens=7, requests=1, cost_micros=11 + 2 * 7)
    assert len(model.asked) == 1


def test_new_messages_do_not_make_an_answer_unfinished(speak, model, turn, message):
    speak(turn())
    speak(turn(messages=[message("bob", "hello")]))
    assert len(model.asked) == 1


@pytest.mark.parametrize("changes", [{"instruction": "Be bold."}, {"expects": "review"}])
def test_other_prompt_is_another_call(speak, model, turn, changes):
    speak(turn(), structured=False)
    speak(turn(**changes), structured=False)
    assert len(model.asked) == 2


def test_corrected_form_is_replayed_as_a_whole(speak, model, turn):
    context = turn(mode="pair", expects="review")
    forms = ({}, {"approved": True, "comment": "good"})
    model.answers(*(completion(tool=("review", form)) for form in forms))
    first = speak(context)
    assert (speak(context), len(model.asked)) == (first, 2)
    assert first.usage.requests == 2


def test_unusable_answer_is_retried_and_counted(speak, model):
    model.answers(completion(" "), completion("sense"))
    with pytest.raises(AgentFailed):
        speak()
    outcome = speak()
    assert outcome.messages[0].content == "sense"
    assert outcome.usage.requests == len(model.asked)


def test_request_error_keeps_the_finished_calls(speak, model, turn):
    context = turn(mode="pair", expects="review")
    right = completion(tool=("review", {"approved": True, "comment": "good"}))
    model.answers(completion(tool=("review", {})), refusal(500, "broken"), right)
    with pytest.raises(AgentFailed, match="HTTP 500"):
        speak(context, retries=0)
    assert speak(context, retries=0).usage.requests == 2
    assert len(model.asked) == 3


# -- incomplete and broken answers ---------------------------------------------------------------


def ended(text, finish_reason, **message):
    """A completion that ends with this finish reason."""
    answer = completion(text)
    answer.body["choices"][0]["finish_reason"] = finish_reason
    answer.body["choices"][0]["message"].update(message)
    return answer


@pytest.mark.parametrize(
    ("finish_reason", "cut"),
    [("length", "length"), ("content_filter", "content_filter"), ("stop", None), (None, None), ("eos", None)],
)
def test_incomplete_answer_is_marked_or_fails(speak, model, journal, finish_reason, cut):
    model.answers(ended("The first step is", finish_reason))
    assert speak().cut == cut
    if cut is not None:
        with pytest.raises(AgentFailed, match="the answer was cut off: ") as failed:
            speak(fails_if_cut=True)
        assert not failed.value.retryable
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ended(None, "stop", refusal="I cannot help."), "Refusal: 'I cannot help.'"),
        (ended("", "content_filter"), "Finish reason: 'content_filter'"),
        (refusal(400, "filtered by the policy", code="content_filter"), "filtered by the policy"),
    ],
)
def test_refusal_is_one_line_and_not_repeated(speak, model, answer, reason):
    model.answers(answer)
    with pytest.raises(AgentFailed) as failed:
        speak(retries=3)
    assert str(failed.value).endswith(reason)
    assert not failed.value.retryable
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("half \ud83d", "half \ufffd"),
        ("\udc97 low", "\ufffd low"),
        ("a\0b\x1b[31m", "a\ufffdb\ufffd[31m"),
        ("\ud83c\udf78 both\r\n", "\U0001f378 both"),
        ("\ufeff\U0001f469\u200d\U0001f467\u202e", "\ufeff\U0001f469\u200d\U0001f467\u202e"),
    ],
)
def test_broken_text_is_replaced_and_paid_once(speak, model, text, clean):
    model.answers(completion(text))
    said = speak()
    assert said.messages[0].content == clean
    assert said.usage.tokens == 18
    assert TurnOutcome.say(text.strip()).messages[0].content == clean
    assert len(model.asked) == 1
