"""Turns that must give an output: models, people, and workers that die."""

from __future__ import annotations

import json
import threading

import pytest

from live import REGISTRY, result_of, until
from servers.model_stub import completion
from stub_agents.typed import GOOD, Report
from symposia.models.errors import InvalidInput
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns, TokenBudget

MODELS = """
[models.stub]
model = "stub"
base_url = "{url}"

[agents.model]
kind = "llm"
model = "stub"

[agents.textual]
kind = "llm"
model = "stub"
structured = false
"""
BAD = {"title": 7}
ONE = {"output": Report, "stop": MaxRounds(1)}


def form(data):
    """The model calls the tool of the structured output."""
    return completion(tool=("result", data))


def test_model_fills_in_the_schema(installation, model, checked):
    model.answers(form(GOOD))
    installation.start_worker()
    job = installation.submit("round_robin", {"ann": "model"}, **ONE)
    result = result_of(job)
    assert (result.output, json.loads(result.text)) == (Report(**GOOD), GOOD)
    (tool,) = model.asked[0].body["tools"]
    assert tool["function"]["parameters"]["required"] == ["title"]
    checked(job, result)


@pytest.mark.long
def test_model_is_asked_again_once_with_the_faults(installation, model):
    model.answers(form(BAD), form(GOOD))
    installation.start_worker()
    result = result_of(installation.submit("round_robin", {"ann": "model"}, **ONE))
    assert (result.output, len(model.asked), result.usage.requests) == (Report(**GOOD), 2, 2)
    assert "$.title: 7 is not of type 'string'" in json.dumps(model.asked[1].body["messages"])


@pytest.mark.long
def test_model_without_structured_output_gets_the_schema_as_text(installation, model):
    model.answers(completion(f"```json\n{json.dumps(GOOD)}\n```"))
    installation.start_worker()
    result = result_of(installation.submit("round_robin", {"ann": "textual"}, **ONE))
    assert result.output == Report(**GOOD)
    assert '"required":["title"]' in json.dumps(model.asked[0].body["messages"]).replace("\\", "").replace(
        " ", ""
    )


@pytest.mark.long
def test_orchestrator_gives_it_in_the_closing_turn(installation, model):
    done = {"satisfied": True, "reason": "enough"}
    model.answers(completion(tool=("decide", done)), form(GOOD))
    installation.start_worker()
    result = result_of(
        installation.submit(
            "orchestrated", {"lead": "model", "ann": "say"}, output=Report, roles={"lead": "orchestrator"}
        )
    )
    assert (result.reason, result.output, result.turns) == ("satisfied", Report(**GOOD), 2)


@pytest.mark.long
def test_spent_budget_allows_no_second_request(installation, model):
    model.answers(form(BAD))
    installation.start_worker()
    job = installation.submit(
        "round_robin", {"ann": "model"}, output=Report, stop=MaxTurns(1) | TokenBudget(20)
    )
    result = result_of(job)
    assert (result.reason, len(model.asked)) == ("failed", 1)


@pytest.mark.long
def test_killed_worker_asks_only_for_the_correction(installation, model, checked):
    model.answers(form(BAD), completion("lost", gate=threading.Event()), form(GOOD))
    first = installation.start_worker()
    job = installation.submit("round_robin", {"ann": "model"}, **ONE)
    until(lambda: len(model.asked) == 2, timeout_s=90, what="the model is asked again")
    first.kill()
    installation.start_worker()
    result = result_of(job, timeout_s=installation.lease_s + 90)
    asked = [json.dumps(it.body["messages"]) for it in model.asked]
    assert ["is not valid" in it for it in asked] == [False, True, True]
    assert (result.output, result.usage.requests) == (Report(**GOOD), 2)
    checked(job, result)


@pytest.mark.long
def test_callable_of_a_killed_worker_is_asked_only_for_the_correction(installation, checked):
    agent = '\n[agents.stuck]\nkind = "python"\ncallable = "stub_agents.typed:stuck"\nwindow = 9\n'
    (installation.folder / "agents.toml").write_text(REGISTRY + agent)
    gate = installation.folder / "gate"
    first = installation.start_worker()
    job = installation.submit("round_robin", {"ann": "stuck"}, **ONE, parameters={"gate": str(gate)})
    until(lambda: len(installation.calls()) == 2, timeout_s=90, what="the agent is asked again")
    first.kill()
    gate.touch()
    installation.start_worker()
    result = result_of(job, timeout_s=installation.lease_s + 90)
    assert ["is not valid" in call["instruction"] for call in installation.calls()] == [False, True, True]
    assert result.output == Report(**GOOD)
    checked(job, result)


def test_person_is_told_the_faults_and_may_answer_again(shared):
    collab = Collab(
        title="t",
        purpose="p",
        mode="round_robin",
        participants=[Participant(participant_id="ann", kind="human")],
    )
    job = shared.client.submit(collab, **ONE)
    (question,) = until(job.pending, what="the person is asked")
    assert '"required":["title"]' in question.question.text
    with pytest.raises(
        InvalidInput, match=r"^text: must be valid under .* \$\.title: 7 is not of type 'string'"
    ):
        job.reply("ann", json.dumps(BAD))
    job.reply("ann", json.dumps(GOOD))
    assert result_of(job).output == Report(**GOOD)
