"""Sessions of models: what their turns cost, what they left out, and when a provider wants to be left alone."""

from __future__ import annotations

import json

import pytest

from live import result_of
from servers.model_stub import completion, refusal
from stub_agents.patient import PATIENCE_S
from symposia.models.protocol.events import MAPEventType
from symposia.models.sessions.options import AfterRetries, FailurePolicy
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.models.turns.turn import Usage

#: On a machine with much else to do.
pytestmark = pytest.mark.timeout(240)

PATIENT = """
[agents.patient]
kind = "python"
callable = "stub_agents.patient:speak"
"""
PAIR = {"ann": "priced", "bob": "priced"}


def results(job):
    return [e.payload["result"] for e in job.events() if e.event_type is MAPEventType.TURN_COMPLETED]


def test_usage_is_reported_per_turn_and_participant(shared, shared_model):
    shared_model.answers(completion("one", cached=4), completion("two"))
    job = shared.submit("round_robin", PAIR, stop=MaxTurns(3))
    result = result_of(job, timeout_s=90)
    cheap = Usage(input_tokens=11, output_tokens=7, cached_tokens=4, requests=1, cost_micros=7 * 2 + 4 + 70)
    dear = Usage(input_tokens=11, output_tokens=7, requests=1, cost_micros=22 + 70)
    assert job.usage() == {"ann": cheap + dear, "bob": dear}
    assert result.usage == cheap + dear + dear
    assert results(job)[0]["usage"] == cheap.model_dump()


def test_omitted_messages_are_recorded_with_the_turn(shared, shared_model):
    shared_model.answers(completion("a message of about ten tokens, more or less"))
    job = shared.submit("round_robin", PAIR, stop=MaxTurns(4))
    result_of(job, timeout_s=90)
    assert [result.get("left_out", 0) for result in results(job)] == [0, 0, 1, 2]


def test_failed_turn_costs_its_attempts(shared, shared_model):
    shared_model.answers(completion(" "))
    policy = FailurePolicy(attempts=2, backoff_s=0, then=AfterRetries.SKIP)
    job = shared.submit("round_robin", PAIR, stop=MaxTurns(1), policy=policy)
    usage = result_of(job, timeout_s=90).usage
    told = [result["usage"]["requests"] for result in results(job)]
    assert (usage.requests, sum(told)) == (len(shared_model.asked), usage.requests), (
        "each attempt tells its own"
    )
    assert usage.requests >= 2


@pytest.mark.long
def test_retry_after_of_a_provider_is_respected(installation):
    installation.lease_s = 60  # a busy machine must not make two attempts of one
    with (installation.folder / "agents.toml").open("a") as file:
        file.write(PATIENT)
    installation.start_worker()
    job = installation.submit(
        "round_robin",
        {"ann": "patient", "bob": "say"},
        stop=MaxTurns(1),
        policy=FailurePolicy(attempts=2, backoff_s=0),
    )
    assert result_of(job, timeout_s=90).dialog.messages[0].content == "now"
    first, second = map(json.loads, (installation.folder / "asked.jsonl").read_text().splitlines())
    assert second - first >= PATIENCE_S - 0.1


def test_provider_errors_end_the_session_by_policy(shared, shared_model):
    shared_model.answers(refusal(401, "Incorrect API key provided."))
    job = shared.submit("round_robin", PAIR, stop=MaxTurns(2))
    result = result_of(job, timeout_s=90)
    assert (result.ok, result.reason, len(shared_model.asked)) == (False, "failed", 1)
    assert "HTTP 401 from model 'stub': Incorrect API key provided." in result.detail
