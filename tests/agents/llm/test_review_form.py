"""Answers of reviewers in a JSON schema that the provider enforces, against a real HTTP server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scaling import patient
from servers.model_stub import StubModel, completion, refusal
from symposia.agents.registry.registry import Registry
from symposia.models.errors import AgentFailed
from symposia.models.protocol.dialog import Message, Role
from symposia.models.sessions.options import AgentBinding
from symposia.models.turns.turn import TurnContext, TurnOutcome

pytestmark = pytest.mark.real_models

FINDING = {
    "file": "a.py",
    "side": "new",
    "line": 1,
    "end_line": 1,
    "quote": "x = 1",
    "kind": "wrong-result",
    "severity": "high",
    "confidence": 0.9,
    "title": "One",
    "why": "With 2, 1 is used.",
    "assumes": "",
    "fix": "Use 2.",
    "replacement": None,
    "also": [],
}
ANSWER = json.dumps({"findings": [FINDING], "summary": "One defect."})
WRONG = json.dumps({"findings": [FINDING | {"quote": "y = 2"}], "summary": ""})
Speak = Callable[..., TurnOutcome]


@pytest.fixture
def speak(runner: Any, turn: Callable[..., TurnContext], model: StubModel, tmp_path: Path) -> Speak:
    def ask(*, role: str | None = None, table: str = "review_schema = true", agent: str = "") -> TurnOutcome:
        path = tmp_path / "agents.toml"
        path.write_text(
            f'[models.m]\nmodel = "stub"\nbase_url = "{model.url}"\nretries = 0\n{table}\n'
            f'[agents.ada]\nkind = "llm"\nmodel = "m"\n{agent}\n'
        )
        opening = (
            Message(role=Role.SYSTEM, content="Report defects."),
            Message(role=Role.USER, content="    1| x = 1"),
        )
        parameters = {"review": {"batch": "b", "item": 1, "path": "a.py"}}
        context = turn(opening=opening, messages=opening, parameters=parameters, timeout_s=patient(20))
        if role is not None:
            context = context.model_copy(update={"me": context.me.model_copy(update={"role_id": role})})
        ada = Registry.load(path).get_agent(AgentBinding(agent="ada"))
        return runner.start(ada, context, timeout_s=patient(20)).result()

    return ask


def schema(model: StubModel, number: int = -1) -> dict[str, Any] | None:
    asked = model.asked[number].body.get("response_format")
    return None if asked is None else asked["json_schema"]


def test_answer_is_requested_in_a_schema_and_stays_text(speak: Speak, model: StubModel) -> None:
    model.answers(completion(ANSWER))
    assert speak().messages[0].content == ANSWER
    (asked,) = model.asked
    form = schema(model)
    assert form is not None
    assert (form["name"], form["strict"], asked.body["temperature"]) == ("findings", True, 0)
    limits = (asked.body.get("max_tokens"), asked.body.get("max_completion_tokens"))
    assert 8_000 in limits
    (finding,) = [part for part in form["schema"]["$defs"].values() if "quote" in part.get("properties", ())]
    assert sorted(finding["required"]) == sorted(FINDING)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"role": "verifier"}, "verdicts"),
        ({"table": ""}, None),
        ({"table": "review_schema = true\nplain = true"}, None),
    ],
)
def test_form_follows_role_and_settings(
    speak: Speak, model: StubModel, settings: dict[str, Any], name: str | None
) -> None:
    model.answers(completion('{"findings": [], "verdicts": []}'))
    speak(**settings)
    form = schema(model)
    assert (form and form["name"]) == name


def test_own_limits_count(speak: Speak, model: StubModel) -> None:
    model.answers(completion(ANSWER))
    speak(agent="temperature = 0.5\nmax_tokens = 900")
    body = model.asked[0].body
    assert (body["temperature"], body.get("max_tokens") or body["max_completion_tokens"]) == (0.5, 900)


def test_thinking_model_gets_no_default_limits(speak: Speak, model: StubModel) -> None:
    model.answers(completion(ANSWER))
    speak(agent="thinking = true")
    assert schema(model) is not None
    assert not {"temperature", "max_tokens", "max_completion_tokens"} & model.asked[0].body.keys()


def test_refused_schema_is_left_out_once(speak: Speak, model: StubModel) -> None:
    refused = refusal(400, "response_format is not supported")
    model.answers(refused, completion(ANSWER))
    assert speak().messages[0].content == ANSWER
    assert [schema(model, number) is None for number in range(len(model.asked))] == [False, True]
    model.reset()
    model.answers(refused)
    with pytest.raises(AgentFailed, match="HTTP 400"):
        speak()
    assert len(model.asked) == 2


def test_wrong_key_is_no_refused_schema(speak: Speak, model: StubModel) -> None:
    model.answers(refusal(401, "wrong key"))
    with pytest.raises(AgentFailed, match="HTTP 401"):
        speak()
    assert len(model.asked) == 1


def test_answer_with_a_wrong_quote_is_given_again(speak: Speak, model: StubModel) -> None:
    model.answers(completion(WRONG), completion(ANSWER))
    assert speak().messages[0].content == ANSWER
    assert "findings[0].quote is not a line" in model.asked[-1].messages[-1][1]
    assert schema(model) is not None


def test_paid_review_is_kept_if_the_second_request_is_refused(speak: Speak, model: StubModel) -> None:
    model.answers(completion(WRONG), refusal(400, "too many requests for this model"))
    outcome = speak()
    assert (outcome.messages[0].content, outcome.asked_again) == (WRONG, True)
    model.answers(completion(WRONG), refusal(503, "later"))
    with pytest.raises(AgentFailed) as error:
        speak()
    assert error.value.retryable
