"""Model agents that call a session as a tool."""

from __future__ import annotations

import json
import re

import pytest

from servers.model_stub import StubModel, completion
from sessions.panels import AGENTS
from symposia.models.prompts.panels import FROM_A_PARTICIPANT
from symposia.models.sessions.stop_conditions import MaxRounds, TokenBudget

pytestmark = pytest.mark.real_models

MODEL = """
[models.stub]
model = "stub"
base_url = "{url}"

[tools.add]
callable = "stub_agents.tools:add"

[agents.editor]
kind = "llm"
model = "stub"
tools = ["panel", "add"]
"""


@pytest.fixture
def model():
    with StubModel() as stub:
        yield stub


def ask(text, call):
    return completion(tool=("panel", {"question": text}), call=call)


def test_model_gets_the_answer_as_the_result_of_its_call(make_installation, model):
    installation = make_installation(AGENTS + MODEL.format(url=model.url))
    model.answers(ask("first draft", "c1"), ask("second draft", "c2"), completion("Done."))
    job = installation.submit("round_robin", {"editor": "editor"}, stop=MaxRounds(1) | TokenBudget(100_000))
    installation.work()
    assert [it.content for it in job.messages()] == ["Done."]
    asked = [next(iter(it.messages())).content for it in job.children()]
    assert asked == [f"{FROM_A_PARTICIPANT}\n\n{text}" for text in ("first draft", "second draft")]
    assert len(model.asked) == 3, "no finished request is repeated"
    results = [it["content"] for it in model.asked[2].body["messages"] if it["role"] == "tool"]
    assert [re.sub(' ended="\\w+"', "", result) for result in results] == [
        '<panel name="panel">\nResult: heard too long\nAnswers:\n- cat: too long\n</panel>'
    ] * 2
    own = job.usage()["editor"]
    assert (own.requests, own.tokens) == (3, own.tokens)
    assert own.tokens > 2 * 350


def test_model_gets_the_title_and_purpose_of_a_session(make_installation, model):
    installation = make_installation(AGENTS + MODEL.format(url=model.url))
    model.answers(completion("Nothing to ask."))
    installation.submit("round_robin", {"editor": "editor"}, stop=MaxRounds(1))
    installation.work()
    told = {it["function"]["name"]: it["function"] for it in model.asked[0].body["tools"]}
    assert "A panel. judge the draft" in told["panel"]["description"]
    assert list(told["panel"]["parameters"]["properties"]) == ["question"]


def test_model_gets_the_failure_of_a_session(make_installation, model):
    installation = make_installation(AGENTS + MODEL.format(url=model.url), max_subsessions=1)
    model.answers(ask("one", "c1"), ask("two", "c2"), completion("Enough."))
    job = installation.submit("round_robin", {"editor": "editor"}, stop=MaxRounds(1))
    installation.work()
    assert job.result().ok
    last = json.dumps(model.asked[2].body["messages"])
    assert "The panel gave no answer" in last
    assert "at most 1 sub-sessions" in last
