"""The document's examples from plain sentences, read by a function, by a scripted model and by a model's endpoint.

Source: dialog state document, section 4 ("Usage Examples").
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from live import SUPPORT, patient
from sessions.stepper import Stepper
from stub_agents.sentences import SentenceModel, parse, parse_later
from symposia.models.errors import InvalidInput
from symposia.models.memory import sentences
from symposia.models.memory.sentences import ModelParser, register_parser

#: Tables of the agents file, by the kind of the parser.
TABLES = {
    "function": '[parser]\ncallable = "stub_agents.sentences:parse"\n',
    "scripted model": 'modules = ["stub_agents.sentences"]\n[parser]\nagent = "scripted_model"\n',
    "endpoint": '[models.stub]\nmodel = "stub"\nbase_url = "{url}"\n[parser]\nagent = "sentence_reader"\n'
    '[agents.sentence_reader]\nkind = "llm"\nmodel = "stub"\n',
    "endpoint without tools": '[models.stub]\nmodel = "stub"\nbase_url = "{url}"\n[parser]\nagent = "sentence_reader"\n'
    '[agents.sentence_reader]\nkind = "llm"\nmodel = "stub"\nstructured = false\n',
}
OWNER: dict[str, Any] = {"user_id": 42, "room_id": "room_123"}
TRIP = "from: Nairobi, to: London, departure_date: 2026-02-10"

pytestmark = pytest.mark.real_models


@pytest.fixture
def model() -> Iterator[SentenceModel]:
    with SentenceModel() as model:
        yield model


@pytest.fixture
def start(redis_url, tmp_path, monkeypatch, model) -> Callable[[str], Stepper]:
    """Return a function that starts a runtime with these tables in its agents file."""
    monkeypatch.syspath_prepend(str(SUPPORT))
    monkeypatch.setattr(sentences, "_registered", [])

    def started(tables: str) -> Stepper:
        return Stepper.on(redis_url, tmp_path, tables=tables.replace("{url}", model.url))

    return started


def answers(stepper: Stepper, sentence: str, *agents: str, **how: Any) -> list[str]:
    """Submit a session about a sentence, and return what its agents say."""
    agents = agents or ("teller",)
    job = stepper.open(*agents, turns=len(agents), said=sentence, **{**OWNER, **how})
    for number in range(1, len(agents) + 1):
        assert stepper.turn(job, number) in ("committed", "ended")
    result = job.result(timeout=patient(20))
    assert result.dialog.messages[0].content == sentence
    return [message.content for message in result.dialog.messages[1:]]


def dropped(job) -> list[str]:
    events = [event for event in job.collab().events if event.event_type == "memory.dropped"]
    return [reason for event in events for reason in event.data["reasons"]]


@pytest.mark.parametrize("tables", TABLES.values(), ids=TABLES)
def test_documented_conversations_work_from_sentences(start, tables, redis_url):
    stepper = start(tables)
    assert answers(stepper, "Find me flights from Nairobi to London next week") == [f"{TRIP} | ask: "]
    assert answers(stepper, "What about returning on Feb 20?") == [f"{TRIP}, return_date: 2026-02-20 | ask: "]
    whole = f"{TRIP}, return_date: 2026-02-20, cabin_class: business | ask: "
    assert answers(stepper, "Show me business class options") == [whole]

    other = {"room_id": "payments"}
    paid = "amount: 5000, recipient: +254712345678 | ask: "
    assert answers(stepper, "Send 5000 shillings to +254712345678", **other) == [paid]
    again = "recipient: +254712345678, amount: 3000 | ask: "
    assert answers(stepper, "Send another 3000 to the same person", **other) == [again]

    client = stepper.client.memory.kept.client
    state = json.loads(client.get("dialog:42:room_123"))
    client.set("dialog:42:room_123", json.dumps({**state, "timestamp": state["timestamp"] - 6.1 * 3_600}))
    expired = answers(stepper, "What about returning on Feb 20?", service="travel")
    assert expired == ["return_date: 2026-02-20 | ask: from, to"]
    again = "from: Nairobi, to: London, return_date: 2026-02-20 | ask: "
    assert answers(stepper, "From Nairobi to London, return Feb 20") == [again]


def test_sentence_is_read_once_in_a_session(start, model):
    stepper = start(TABLES["endpoint"])
    answers(stepper, "What about returning on Feb 20?", "teller", "viewer", user_id=None)
    assert len(model.asked) == 1
    prompt = "\n".join(str(message["content"]) for message in model.asked[0].body["messages"])
    assert "travel: from* text" in prompt
    assert "Today is " in prompt


def test_usage_of_the_parser_is_booked(start):
    stepper = start(TABLES["endpoint"])
    job = stepper.open("teller", turns=1, said="What about returning on Feb 20?", **OWNER)
    stepper.turn(job, 1)
    assert job.result(timeout=patient(20)).usage.tokens == 18


def test_wrong_value_goes_back_to_the_parser_once(start, model):
    stepper = start(TABLES["endpoint"])
    assert answers(stepper, "Fly to Rome next Friday") == [
        "from: Oslo, to: Rome, departure_date: 2026-02-13 | ask: "
    ]
    assert len(model.asked) == 2
    note = str(model.asked[1].body["messages"][-1]["content"])
    assert 'REMEMBER departure_date: must be a date such as 2026-02-14 (got "next Friday"; today is ' in note


@pytest.mark.parametrize(
    ("tables", "sentence", "reason"),
    [
        ("", "Thank you!", "the user's message was not read: no parser is registered here"),
        ('[parser]\ncallable = "stub_agents.sentences:fail"\n', "Thank you!", "cannot read 'Thank you!'"),
        ('[parser]\ncallable = "stub_agents.sentences:absent"\n', "Thank you!", "absent"),
        ('[parser]\nagent = "absent"\n', "Thank you!", "agent: must be a registered agent"),
        (TABLES["function"], "Fly to Rome next Friday", "REMEMBER departure_date: must be a date such as"),
    ],
)
def test_what_is_not_read_is_an_event_and_stops_no_turn(start, caplog, tables, sentence, reason):
    stepper = start(tables)
    job = stepper.open("teller", turns=1, said=sentence, **OWNER)
    stepper.turn(job, 1)
    assert job.result(timeout=patient(20)).dialog.messages[-1].content.endswith("| ask: ")
    (line,) = dropped(job)
    assert reason in line
    assert line in caplog.text


def test_sentence_may_forget_and_unclear_service_is_asked_for(start):
    stepper = start(TABLES["function"])
    answers(stepper, "Find me flights from Nairobi to London next week")
    assert answers(stepper, "Take me to Paris, and forget my dates") == ["from: Nairobi, to: Paris | ask: "]
    assert answers(stepper, "Send it to ann@example.org", room_id="new") == [
        "to: ann@example.org | ask: service"
    ]


def test_registered_function_reads_sentences_of_continued_sessions(start):
    stepper = start("")
    register_parser(parse_later)
    job = stepper.open("teller", turns=1, said="Find me flights from Nairobi to London next week", **OWNER)
    stepper.turn(job, 1)
    job.result(timeout=patient(20))
    again = job.continue_with("What about returning on Feb 20?")
    stepper.plan(again)
    stepper.turn(again, 1)
    said = again.result(timeout=patient(20)).dialog.messages[-1].content
    assert said == f"{TRIP}, return_date: 2026-02-20 | ask: "


def test_program_may_pass_sentences(start):
    memory = start("").client.memory
    with pytest.raises(InvalidInput, match="parameters: no parser is registered here"):
        memory.merge(7, "r", "What about returning on Feb 20?", service="travel")
    register_parser(parse)
    assert memory.store(7, "r", "Find me flights from Nairobi to London next week")
    assert memory.merge(7, "r", "What about returning on Feb 20?")["return_date"] == "2026-02-20"
    assert memory.store(7, "r", "Take me to Paris, and forget my dates")
    assert memory.get(7, "r")["parameters"] == {"from": "Nairobi", "to": "Paris"}
    assert not memory.store(7, "r", "Thank you!")
    register_parser(ModelParser("scripted_model"))
    with pytest.raises(InvalidInput, match="parameters: an agent reads sentences in sessions only"):
        memory.merge(7, "r", "Thank you!")


@pytest.mark.parametrize("given", [None, "parser", 7])
def test_only_functions_and_agents_are_parsers(given):
    with pytest.raises(InvalidInput, match="parser: must be a function of a Sentence, or a ModelParser"):
        register_parser(given)
