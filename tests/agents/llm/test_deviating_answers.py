"""Answers of models that deviate from what was asked for, against a real HTTP server."""

from __future__ import annotations

import json

import pytest

from scaling import patient
from servers.model_stub import Answer, completion, refusal
from symposia.agents.agent import InMemoryCallJournal, TurnServices
from symposia.agents.llm.agent import LLMAgent
from symposia.agents.llm.clients import Endpoint
from symposia.agents.llm.parsing import CONTINUE, EMPTY, EMPTY_REQUIRED, NO_ANSWER
from symposia.agents.llm.settings import LLMSettings, ModelSource, Price
from symposia.models.errors import AgentFailed
from symposia.models.text.ids import utcnow
from symposia.models.turns.turn import REVIEW_PARAMETER, Decision

pytestmark = pytest.mark.real_models

DECIDE = {"mode": "orchestrated", "expects": "decision"}
REVIEW = {"mode": "pair", "expects": "review"}
ANSWER = "The name is Kestrel, because all of you found it short and clear."


class Heard:
    def __init__(self):
        self.text = ""

    def restart_output(self):
        self.text = ""

    def add_output(self, text):
        self.text += text


@pytest.fixture
def speak(runner, turn, model):
    def spoken(context=None, *, listener=None, price=None, **settings):
        agent = LLMAgent(
            lambda: [ModelSource(Endpoint("stub", model.url, "key"), price)],
            LLMSettings(**({"retries": 1} | settings)),
        )
        services = TurnServices(InMemoryCallJournal(), listener=listener)
        context = context or turn(timeout_s=patient(20))
        return runner.start(agent, context, timeout_s=patient(20), turn_services=services).result()

    return spoken


def ended(text, finish_reason="length", **message):
    answer = completion(text)
    answer.body["choices"][0]["finish_reason"] = finish_reason
    answer.body["choices"][0]["message"].update(message)
    return answer


def called(arguments):
    """A call of the answer tool with this text as its arguments."""
    answer = completion(tool=("decide", {}))
    answer.body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = arguments
    return answer


def notes(model):
    return [text for _, text in model.asked[-1].messages if text and text.startswith("<note>")]


# -- decisions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("structured", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "NEXT: bob",
        "I think Bob should go next.",
        '{"next": "bob"}',
        "<think>cleo?</think>bob",
        "Ann: NEXT: bob",
    ],
)
def test_decision_in_prose_is_taken_at_once(speak, model, turn, structured, text):
    model.answers(completion(text))
    outcome = speak(turn(**DECIDE), structured=structured)
    decision = outcome.decision
    if decision is None:  # read later, from the message
        from symposia.models.directives import read_directives

        decision = read_directives(turn(**DECIDE), outcome).decision
    assert decision.next == ("bob",)
    assert len(model.asked) == 1


@pytest.mark.parametrize("structured", [True, False])
def test_prose_without_decision_is_told_once_and_then_left(speak, model, turn, structured):
    model.answers(completion("What a fine day."))
    outcome = speak(turn(**DECIDE), structured=structured)
    assert outcome.decision == Decision(instruction="What a fine day.")
    assert outcome.asked_again
    assert (outcome.usage.requests, len(model.asked)) == (2, 2)
    (note,) = notes(model)
    assert (
        "reason, satisfied, answer, progress, next"
        if structured
        else "Answer with NEXT: and one of bob, cleo"
    ) in note


@pytest.mark.parametrize("second", [f"DONE: {ANSWER}", "DONE: ok"])
def test_done_without_answer_is_asked_for_it_once(speak, model, turn, second):
    model.answers(completion("DONE: ok"), completion(second))
    outcome = speak(turn(**DECIDE), structured=False)
    assert notes(model) == [f"<note>\n{NO_ANSWER}\n</note>"]
    assert (outcome.decision.satisfied, outcome.decision.answer) == (True, second.removeprefix("DONE: "))


def test_invalid_form_is_never_a_dead_session(speak, model, turn):
    model.answers(called('{"satisfied": "perhaps"}'))
    outcome = speak(turn(**DECIDE))
    assert (outcome.decision, outcome.asked_again) == (Decision(), True)


@pytest.mark.parametrize(
    "text", ["APPROVED: fine", "Verdict: APPROVED", '{"approved": "true", "comment": "fine"}']
)
def test_review_in_prose_is_taken_at_once(speak, model, turn, text):
    model.answers(completion(text))
    assert speak(turn(**REVIEW)).decision.satisfied
    assert len(model.asked) == 1


# -- JSON ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        '{"satisfied": false, "next": [{"name": "bob"}],}',
        "{'satisfied': False, 'next': [{'name': 'bob', 'instruction': None}]}".replace("None", "''"),
        '{"satisfied": "false", "next": {"name": "bob"}}',
        '{"satisfied": false, "next": [{"name": "bob"}], "mood": 1}',
        '{"satisfied": false, // no\n "next": [{"name": "bob"}]}',
        '{"satisfied": false, "next": [{"name": "bob"}]',
        '```json\n{"satisfied": false, "next": [{"name": "bob"}]}\n```',
    ],
)
def test_arguments_are_repaired_before_a_second_request(speak, model, turn, arguments):
    model.answers(called(arguments))
    assert speak(turn(**DECIDE)).decision.next == ("bob",)
    assert len(model.asked) == 1


def test_typed_output_in_prose_is_fitted_to_its_schema(speak, model, turn):
    schema = {
        "type": "object",
        "properties": {"count": {"type": "integer"}, "names": {"type": "array", "items": {"type": "object"}}},
        "required": ["count", "names"],
    }
    model.answers(completion('Here it is:\n```json\n{"count": "3", "names": {"a": 1},}\n```\nBye.'))
    assert speak(turn(output_schema=schema)).output == {"count": 3, "names": [{"a": 1}]}
    assert len(model.asked) == 1


# -- empty answers, thoughts, voices -------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "\u200b\u2060", "...", "```\n```", "<answer></answer>", "<think>so", "Ann:"]
)
def test_empty_answer_is_asked_again_and_then_fails(speak, model, text):
    model.answers(completion(text), completion("Well."))
    assert speak().messages[0].content == "Well."
    assert notes(model) == [f"<note>\n{EMPTY}\n</note>"]
    model.answers(completion(text))
    with pytest.raises(AgentFailed):
        speak()


@pytest.mark.parametrize("fields", [DECIDE, REVIEW, {"position": {"is_last": True}}])
def test_empty_answer_of_one_who_may_not_pass(speak, model, turn, fields):
    model.answers(completion(""), completion("NEXT: bob"))
    speak(turn(**fields), structured=False)
    assert notes(model) == [f"<note>\n{EMPTY_REQUIRED}\n</note>"]


@pytest.mark.parametrize(
    "text",
    [
        "<think>no</think>Hello Bob.",
        "no\n</think>\n\nHello Bob.",
        "[THINK]no[/THINK]Hello Bob.",
        "Hello Bob.\n<thinking>no",
    ],
)
@pytest.mark.parametrize("heard", [None, Heard()])
def test_thoughts_are_neither_stored_nor_streamed(speak, model, text, heard):
    model.answers(completion(text))
    assert speak(listener=heard).messages[0].content == "Hello Bob."
    if heard is not None:
        assert heard.text.strip() == "Hello Bob."


@pytest.mark.parametrize(
    ("text", "own", "cut_lines"),
    [
        ('<message from="ann">\nHello.\n</message>', "Hello.", 0),
        ("<turn>Hello.</turn>", "Hello.", 0),
        ("**Ann:** Hello.", "Hello.", 0),
        ("Hello.\n\nBob: I agree.\ncleo: me too", "Hello.", 2),
        ("Hello.\n\n**Bob:** I agree.\n*cleo*: me too", "Hello.", 2),
        ("Hello.\n* Bob: agrees\n- cleo: too", "Hello.\n* Bob: agrees\n- cleo: too", 0),
        ('Hello.\n<message from="bob">I agree.</message>', "Hello.", 1),
        ("Hello.\n> Bob: I agree.", "Hello.\n> Bob: I agree.", 0),
        ("So far:\nBob: a kite\ncleo: a hawk", "So far:\nBob: a kite\ncleo: a hawk", 0),
        ("As Bob: said, yes.", "As Bob: said, yes.", 0),
    ],
)
def test_voices_of_others_are_cut_and_counted(speak, model, text, own, cut_lines):
    model.answers(completion(text))
    outcome = speak()
    assert (outcome.messages[0].content, outcome.cut_voices) == (own, cut_lines)
    assert ("cut_voices" in outcome.model_dump()) == bool(cut_lines)


# -- finish reasons and errors -------------------------------------------------------------------


def test_cut_answer_is_continued_once(speak, model):
    model.answers(ended("The first step"), completion(" is small."))
    outcome = speak()
    assert (outcome.messages[0].content, outcome.cut) == ("The first step is small.", None)
    assert [text for _, text in model.asked[-1].messages[-2:]] == [
        "The first step",
        f"<note>\n{CONTINUE}\n</note>",
    ]
    model.answers(ended("The first step "), ended("is"))
    outcome = speak()
    assert (outcome.messages[0].content, outcome.cut) == ("The first step is", "length")
    assert len(model.asked) == 4


def test_voices_are_cut_from_an_answer_that_needs_no_continuation(speak, model):
    model.answers(ended("Hello.\n\nBob: I agree."), completion(""))
    outcome = speak()
    assert (outcome.messages[0].content, outcome.cut_voices, outcome.cut) == ("Hello.", 1, None)


def test_answer_is_not_asked_for_beyond_the_budget(speak, model, turn):
    model.answers(ended("The first step"))
    usage = speak(turn(remaining={"tokens": 1_000}), on_length="keep").usage
    for budget, requests in ((usage.tokens * 2, 2), (usage.tokens * 2 - 1, 1)):
        outcome = speak(turn(remaining={"tokens": budget}))
        assert (outcome.usage.requests, outcome.cut) == (requests, "length")
        outcome = speak(turn(**DECIDE, remaining={"tokens": budget}), structured=False)
        assert outcome.usage.requests == requests


def test_cut_decision_is_given_again(speak, model, turn):
    model.answers(ended("NEXT: bo"), completion("NEXT: bob"))
    assert speak(turn(**DECIDE), structured=False).decision.next == ("bob",)
    assert "with at most 20 words" in notes(model)[0]


def test_thoughts_up_to_the_limit_have_twice_the_limit_once(speak, model):
    model.answers(ended("<think>so long"), completion("Well."))
    assert speak(max_tokens=100).messages[0].content == "Well."
    limits = [
        asked.body.get("max_tokens") or asked.body.get("max_completion_tokens") for asked in model.asked
    ]
    assert limits == [100, 200]
    model.answers(ended("<think>so long"))
    with pytest.raises(AgentFailed, match="the model used up its 7 tokens thinking"):
        speak(max_tokens=100)
    assert len(model.asked) == 4


@pytest.mark.parametrize("body", [{"choices": []}, {"choices": None}, {}])
def test_answer_without_choices_is_retried(speak, model, body):
    broken = Answer(body={**completion("x").body, **body} if body else "{}")
    model.answers(broken, completion("Well."))
    assert speak().messages[0].content == "Well."
    model.answers(broken)
    with pytest.raises(AgentFailed) as failed:
        speak()
    assert "\n" not in str(failed.value)
    assert len(model.asked) == 4


@pytest.mark.parametrize(
    "message",
    [
        "registry.ollama.ai/library/phi does not support tools",
        "Tool use is not supported by this model",
        '"auto" tool choice requires --enable-auto-tool-choice',
    ],
)
def test_model_without_tools_is_told_the_setting(speak, model, turn, message):
    model.answers(refusal(400, message))
    with pytest.raises(AgentFailed, match="structured = false"):
        speak(turn(**DECIDE))


def test_error_of_a_provider_is_one_line(speak, model):
    model.answers(refusal(400, "bad\nrequest\n" + "x" * 5_000))
    with pytest.raises(AgentFailed, match="HTTP 400 from model 'stub': bad request x") as failed:
        speak()
    assert "\n" not in str(failed.value)
    assert len(json.dumps(str(failed.value))) < 2_500


# -- reviews under a cost limit --------------------------------------------------------------------

QUOTED = '{"findings": [{"quote": "x = 1"}, {"quote": "not there"}]}'


@pytest.mark.parametrize("text", [QUOTED, "I see no list here."])
@pytest.mark.parametrize(
    ("cost_micros", "second", "requests"), [(1_000, "-", 1), (100_000, "{", 2), (100_000, " ", 2)]
)
def test_paid_review_is_kept_without_a_second_answer(speak, model, turn, text, cost_micros, second, requests):
    model.answers(completion(text), ended(second) if second == "{" else completion(second))
    opening = [{"role": role, "content": "x = 1", "timestamp": utcnow()} for role in ("system", "user")]
    context = turn(
        parameters={REVIEW_PARAMETER: {}},
        opening=opening,
        remaining={"cost_micros": cost_micros},
        timeout_s=patient(20),
    )
    outcome = speak(context, price=Price(1, 4))
    assert outcome.messages[0].content == text
    assert (outcome.usage.requests, outcome.usage.cost_micros) == (requests, requests * (11 + 7 * 4))
