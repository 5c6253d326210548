"""What a session may spend: reserved when a turn begins, settled when it closes."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from live import result_of, until
from symposia.models.sessions.stop_conditions import CostBudget, MaxRounds, MaxTurns, TokenBudget
from symposia.state.redis.keys import lock_key, session_key

NAMES = [f"p{i}" for i in range(8)]


def outcomes(job):
    payloads = [event.payload or {} for event in job.events() if event.event_type == "MAPTurnCompleted"]
    return [payload["result"]["outcome"] for payload in payloads]


def fields(installation, job, *names):
    return installation.runtime.store.client.hmget(session_key(job.id, "session"), names)


def test_turn_over_budget_ends_the_session(installation, costing):
    job = installation.submit(
        "round_robin",
        {"ann": costing(400)},
        stop=TokenBudget(1_000) | MaxRounds(9),
        limits={"turn_tokens": 400},
    )
    installation.work()
    result = result_of(job)
    assert (result.ok, result.reason) == (True, "token_budget")
    assert result.detail == "200 tokens left, but a turn of ann may use 400 tokens"
    assert result.usage.tokens == 800


def test_cost_limit_ends_the_session_too(installation, costing):
    job = installation.submit(
        "round_robin",
        {"ann": costing(cost_micros=400_000)},
        stop=CostBudget(1.0) | MaxRounds(9),
        limits={"turn_usd": 0.4},
    )
    installation.work()
    result = result_of(job)
    assert (result.reason, result.usage.cost_micros) == ("cost_budget", 800_000)
    assert result.detail == "$0.20 left, but a turn of ann may use $0.40"


def test_reservation_is_cut_to_the_remaining_budget(installation, costing):
    job = installation.submit("round_robin", {"ann": costing(400)}, stop=TokenBudget(1_000) | MaxRounds(9))
    installation.work()
    result = result_of(job)
    assert (result.reason, result.turns) == ("token_budget", 3)


def test_unknown_cost_gets_a_share_of_the_budget(installation):
    spender = {"agent": "spender", "parameters": {"tokens": 300}}
    agents = {"ann": spender, "bob": spender}
    job = installation.submit("broadcast", agents, stop=TokenBudget(1_000) | MaxRounds(1))
    installation.work()
    assert result_of(job).reason == "max_rounds"
    told = {message.content for message in job.messages()}
    assert told == {"500 tokens are mine", "700 tokens are mine"}


def test_parallel_turns_fit_into_the_budget(installation, costing):
    agents = dict.fromkeys(NAMES, costing(100))
    job = installation.submit(
        "broadcast", agents, stop=TokenBudget(300) | MaxRounds(1), limits={"turn_tokens": 100}
    )
    with ThreadPoolExecutor(8) as pool:
        while installation.queue.waiting:
            calls = [pool.submit(installation.deliver) for _ in range(len(installation.queue.waiting))]
            [call.result() for call in calls]
    result = result_of(job)
    assert (result.reason, result.usage.tokens, result.turns) == ("token_budget", 300, 3)
    assert outcomes(job) == ["message"] * 3, "what never began is dropped without a trace of a grant"


def test_unspent_reservation_is_returned(installation, costing):
    agents = dict.fromkeys(NAMES, costing(50))
    job = installation.submit(
        "broadcast", agents, stop=TokenBudget(450) | MaxRounds(1), limits={"turn_tokens": 100}
    )
    installation.work()
    result = result_of(job)
    assert (result.reason, result.turns) == ("max_rounds", 8)
    assert fields(installation, job, "reserved_tokens") in (["0"], [None])


@pytest.fixture
def two_at_once(installation, tmp_path):
    """Two parallel turns: the first runs until the gate opens, the second is delivered meanwhile."""
    gate = tmp_path / "gate"
    pool = ThreadPoolExecutor(1)

    def begin(budget, **parameters):
        agents = {
            "ann": {"agent": "spender", "parameters": {"gate": str(gate), **parameters}},
            "bob": {"agent": "spender", "parameters": {"tokens": 60}},
        }
        stop = TokenBudget(budget) | MaxRounds(1)
        job = installation.submit("broadcast", agents, stop=stop, limits={"turn_tokens": 90})
        installation.deliver()  # the step is planned
        pool.submit(installation.deliver)
        until(lambda: job.state().records[1].status == "speaking", what="the first turn speaks")
        return job, installation.deliver()

    yield begin, gate
    gate.touch()
    pool.shutdown()


def test_turn_waits_for_budget_without_a_worker(installation, two_at_once):
    begin, gate = two_at_once
    job, word = begin(150, tokens=60)
    assert word == "short"
    assert fields(installation, job, "reserved_tokens") == ["90"]
    assert not installation.queue.waiting
    gate.touch()
    until(lambda: installation.queue.waiting, what="the one who waits is sent for")
    installation.work()
    result = result_of(job)
    assert (result.reason, result.usage.tokens) == ("max_rounds", 120)


def test_failed_turn_returns_its_reservation(installation, two_at_once):
    begin, gate = two_at_once
    job, word = begin(150, fails=1, tokens=60)
    assert word == "short"
    gate.touch()
    until(lambda: installation.queue.waiting, what="the one who waits is sent for")
    installation.sweep_until(job, lambda: job.state().is_final)
    assert result_of(job).usage.tokens == 120


def test_takeover_keeps_the_reservation(installation, two_at_once):
    begin, _gate = two_at_once
    job, word = begin(150, tokens=60, takeover_passes=True)
    assert word == "short"
    # What the passing of a lease does. The gate stays shut: who is dead tells nothing, not even what it has spent.
    installation.runtime.store.client.delete(lock_key(job.id, "slot:ann"))
    installation.sweep_until(job, lambda: job.state().is_final)
    assert "expired" in outcomes(job)
    assert result_of(job).usage.tokens == 120


def test_parked_turn_holds_no_reservation(installation):
    asks = {"agent": "asker", "parameters": {"ask": "eve"}}
    spends = {"agent": "spender", "parameters": {"tokens": 60}}
    stop = TokenBudget(150) | MaxRounds(1)
    agents = {"ann": asks, "bob": spends}
    job = installation.submit("broadcast", agents, people=["eve"], stop=stop, limits={"turn_tokens": 90})
    installation.work()
    assert {record.participant for record in job.state().open_turns()} == {"ann", "eve"}
    assert job.state().usage.tokens == 60
    job.cancel()


def test_cancelled_session_holds_no_reservation(installation, two_at_once):
    begin, _ = two_at_once
    job, _ = begin(150)
    job.cancel()
    assert fields(installation, job, "reserved_tokens") == ["0"]


def test_session_without_limits_has_no_accounts(installation, costing):
    job = installation.submit("round_robin", {"ann": costing(400)}, stop=MaxTurns(2))
    installation.work()
    assert result_of(job).turns == 2
    assert fields(installation, job, "reserved_tokens", "reserved_cost") == [None, None]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"turn_tokens": 0}, "limits.turn_tokens: "),
        ({"turn_usd": -1}, "limits.turn_usd: "),
        ({"tokens": 5}, "limits.tokens: is not a known field"),
        (7, "limits: must be a table"),
    ],
)
def test_invalid_limits_are_refused_in_one_line(installation, costing, limits, said):
    with pytest.raises(ValueError, match=said) as caught:
        installation.submit("round_robin", {"ann": costing(1)}, limits=limits)
    assert "\n" not in str(caught.value)


def test_session_file_may_set_limits():
    from symposia.models.sessions.submission import Submission

    document = {
        "title": "t",
        "purpose": "p",
        "mode": "round_robin",
        "limits": {"turn_tokens": 7},
        "participants": [{"participant_id": "ann", "agent": "noop"}],
    }
    assert Submission.from_document(json.loads(json.dumps(document))).limits.turn_tokens == 7
