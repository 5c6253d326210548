"""Wrong values of a model go back to it once; what is still wrong is dropped, on record."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from live import SUPPORT, patient
from servers.model_stub import Answer, StubModel, completion, refusal
from sessions.stepper import Stepper
from symposia.jobs.collab import CollabJob

MODEL = """
[models.stub]
model = "stub"
base_url = "{url}"

[agents.desk]
kind = "llm"
model = "stub"

[agents.program]
kind = "python"
callable = "stub_agents.memory:careless"
"""
TRIP = {"user_id": 42, "room_id": "r", "service": "travel", "said": {"from": "Nairobi"}}
BAD = completion("Noted.\nREMEMBER to: London\nREMEMBER departure_date: next Friday")

pytestmark = pytest.mark.real_models


@pytest.fixture
def model() -> Iterator[StubModel]:
    with StubModel() as model:
        yield model


@pytest.fixture
def answer(redis_url, tmp_path, monkeypatch, model) -> Callable[..., tuple[CollabJob, dict]]:
    """Return a function that runs a session of one turn with these answers of the model; it returns the memory, too."""
    monkeypatch.syspath_prepend(str(SUPPORT))
    stepper = Stepper.on(redis_url, tmp_path, tables=MODEL.replace("{url}", model.url))

    def answered(*answers: Answer, agent: str = "desk", **how) -> tuple[CollabJob, dict]:
        model.answers(*answers)
        job = stepper.open(agent, turns=1, **{**TRIP, **how})
        stepper.turn(job, 1)
        job.result(timeout=patient(20))
        return job, stepper.client.memory.get(42, "r")["parameters"]

    return answered


def dropped(job: CollabJob) -> list[str]:
    events = [event for event in job.collab().events if event.event_type == "memory.dropped"]
    return [reason for event in events for reason in event.data["reasons"]]


def test_second_answer_is_written_with_what_was_right(answer, model):
    good = completion("Noted, you leave on the 13th.\nREMEMBER departure_date: 2026-02-13")
    job, parameters = answer(BAD, good)
    assert parameters == {"from": "Nairobi", "to": "London", "departure_date": "2026-02-13"}
    (message,) = job.result().dialog.messages
    assert message.content.startswith("Noted, you leave on the 13th.")
    assert job.result().usage.requests == 2
    assert dropped(job) == []
    last = str(model.asked[1].body["messages"][-1]["content"])
    assert (
        'REMEMBER departure_date: must be a date such as 2026-02-14 (got "next Friday"; today is 20' in last
    )
    assert "REMEMBER to: London" in last, "the first answer is repeated"


@pytest.mark.parametrize("second", [BAD, refusal(400, "no")], ids=["wrong again", "failed"])
def test_wrong_value_is_dropped_after_the_second_answer(answer, model, caplog, second):
    job, parameters = answer(BAD, second)
    assert parameters == {"from": "Nairobi", "to": "London"}
    assert len(model.asked) == 2
    (reason,) = dropped(job)
    assert reason.startswith("REMEMBER departure_date: must be a date such as 2026-02-14")
    assert f"not stored: {reason}" in caplog.text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("REMEMBER filters: {open", "REMEMBER filters: must be text, or JSON that is complete (got {open)"),
        ("SERVICE: alchemy", "SERVICE: must be one of travel"),
        ("REMEMBER phone: {+254712345678", "(got ****5678)"),
    ],
)
def test_each_wrong_line_is_asked_about(answer, model, text, reason):
    job, _ = answer(completion(f"Well.\n{text}"))
    assert len(model.asked) == 2
    (dropped_line,) = dropped(job)
    assert reason in dropped_line


def test_right_answer_is_asked_for_once(answer, model):
    _, parameters = answer(completion("Noted.\nREMEMBER to: London\nFORGET: from"))
    assert parameters == {"to": "London"}
    assert len(model.asked) == 1


def test_service_is_inferred_from_the_answer(answer, model):
    _, parameters = answer(
        completion("Noted.\nREMEMBER query: a quiet hotel"), service=None, said=None, user_id=42
    )
    assert parameters == {"query": "a quiet hotel"}


def test_program_is_not_called_twice(answer, caplog):
    job, parameters = answer(agent="program")
    assert parameters == {"from": "Nairobi", "to": "London"}
    assert [reason.partition(":")[0] for reason in dropped(job)] == ["REMEMBER passenger_count"]


def test_wrong_stated_value_is_an_event_of_the_first_turn(answer):
    job, parameters = answer(
        completion("Well."), service=None, said={"from": "Nairobi", "to": "Rome", "passenger_count": "many"}
    )
    assert parameters == {"from": "Nairobi", "to": "Rome"}
    assert dropped(job) == ["travel.passenger_count: must be a whole number (got 'many')"]
