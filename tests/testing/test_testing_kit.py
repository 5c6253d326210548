"""The kit for testing agents of one's own."""

from __future__ import annotations

import pytest
from pydantic_ai.models.test import TestModel

from servers.model_stub import StubModel
from symposia.agents.agent import InMemoryCallJournal, TurnServices
from symposia.agents.llm.agent import LLMAgent
from symposia.agents.llm.clients import Endpoint
from symposia.agents.llm.settings import LLMSettings, ModelSource
from symposia.models.errors import AgentFailed
from symposia.models.turns.turn import Decision, Expects
from symposia.testing import Call, ScriptedModel, model_agent, speak, turn
from symposia.testing.conformance import AgentConformance


class Ear:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def restart_output(self) -> None:
        self.heard.clear()

    def add_output(self, text: str) -> None:
        self.heard.append(text)


def test_scripted_model_repeats_its_last_reply():
    agent = model_agent(ScriptedModel("one", "two"))
    assert [speak(agent, turn(turn_number=n)).messages[0].content for n in (1, 2, 3)] == ["one", "two", "two"]


def test_scripted_model_records_its_requests():
    model = ScriptedModel("fine")
    speak(model_agent(model, instructions="You write haiku."), turn(heard=[("bob", "hello")]))
    assert "\nYou write haiku.\n" in model.asked[0].system
    assert '<message from="bob" name="Bob" turn="1">\nhello\n</message>' in model.asked[0].prompt


def test_scripted_model_fills_in_the_expected_form():
    model = ScriptedModel({"satisfied": False, "next": [{"name": "bob"}]})
    outcome = speak(model_agent(model), turn(mode="orchestrated", expects=Expects.DECISION))
    assert outcome.decision == Decision(next=("bob",))


def test_scripted_model_gives_a_typed_output():
    schema = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    model = ScriptedModel({"count": 2})
    outcome = speak(model_agent(model), turn(output_schema=schema))
    assert (outcome.output, outcome.messages[0].content) == ({"count": 2}, '{"count":2}')


def test_small_model_gets_the_schema_as_text():
    model = ScriptedModel('{"count":2}')
    speak(model_agent(model, plain=True), turn(output_schema={"type": "integer"}))
    assert model.asked[0].prompt.endswith('valid under this JSON schema: {"type":"integer"}')


def test_scripted_form_for_text_raises_type_error():
    with pytest.raises(AgentFailed, match="TypeError: this turn expects text"):
        speak(model_agent(ScriptedModel({"satisfied": True})), turn())


def test_scripted_model_may_fail():
    with pytest.raises(AgentFailed, match="LookupError: lost"):
        speak(model_agent(ScriptedModel(LookupError("lost"))), turn())


def test_scripted_model_streams_words():
    ear = Ear()
    outcome = speak(
        model_agent(ScriptedModel("one two three")), turn(), turn_services=TurnServices(listener=ear)
    )
    assert ear.heard == ["one", " two", " three"]
    assert outcome.messages[0].content == "one two three"


def test_structured_answer_is_not_streamed():
    ear = Ear()
    model = ScriptedModel({"approved": True, "comment": "good"})
    outcome = speak(
        model_agent(model), turn(mode="pair", expects="review"), turn_services=TurnServices(listener=ear)
    )
    assert (outcome.decision, ear.heard) == (Decision(satisfied=True, reason="good"), [])


def test_scripted_model_may_call_an_unknown_tool(monkeypatch):
    model = ScriptedModel(Call("rooms", {"name": "blue"}), "I have no such tool.")
    assert speak(model_agent(model), turn()).usage.requests == 2
    assert "rooms" in str(model.asked[1].messages[-1])


def test_answer_from_the_journal_is_streamed_again():
    ear, journal, model = Ear(), InMemoryCallJournal(), ScriptedModel("one two")
    for _ in range(2):
        speak(model_agent(model), turn(), turn_services=TurnServices(journal, ear))
    assert ("".join(ear.heard), len(model.asked)) == ("one two", 1)


def test_pydantic_ai_test_model_can_replace_it():
    outcome = speak(model_agent(TestModel(custom_output_text="tested")), turn())
    assert outcome.messages[0].content == "tested"


def real(url: str) -> LLMAgent:
    return LLMAgent(lambda: [ModelSource(Endpoint("stub", url))], LLMSettings())


def test_unmarked_test_calls_no_real_model():
    with StubModel() as model:
        with pytest.raises(AgentFailed, match="Model requests are not allowed"):
            speak(real(model.url), turn())
        assert model.asked == []


@pytest.mark.real_models
def test_marked_test_may_call_a_real_model():
    with StubModel() as model:
        assert speak(real(model.url), turn()).messages[0].content == "Well said."


class TestScriptedModels(AgentConformance):
    @pytest.fixture
    def agent(self):
        return model_agent(ScriptedModel("so I say"), structured=False)


class TestOnesOwnAgents(AgentConformance):
    class Polite:
        async def speak(self, context):
            from symposia.models.turns.turn import TurnOutcome

            return TurnOutcome.say(f"Thank you all, says {context.me.participant_id}.")

    @pytest.fixture
    def agent(self):
        return self.Polite()
