"""Budgets and steering on real workers that share only Redis."""

from __future__ import annotations

import pytest

from live import result_of, until
from symposia.models.sessions.stop_conditions import MaxRounds, TokenBudget

SPENDS = {"agent": "noop", "parameters": {"replies": [{"say": "ok", "usage": {"output_tokens": 100}}]}}


@pytest.mark.long
def test_fifty_concurrent_turns_stay_within_the_budget(installation, checked):
    installation.start_workers(2)
    agents = {f"p{i}": SPENDS for i in range(50)}
    stop = TokenBudget(1_000) | MaxRounds(1)
    job = installation.submit("broadcast", agents, stop=stop, limits={"turn_tokens": 100})
    result = result_of(job, timeout_s=50)
    assert (result.reason, result.usage.tokens, result.turns) == ("token_budget", 1_000, 10)
    checked(job, result)


@pytest.mark.long
def test_roster_changes_reach_every_worker(installation, checked):
    installation.start_workers(2)
    gate = installation.folder / "gate"
    agents = {"ann": "gated", "bob": "gated"}
    parameters = {"gate": str(gate), "gate_turn": 1}
    job = installation.submit("round_robin", agents, stop=MaxRounds(3), parameters=parameters)
    until(
        lambda: 1 in job.state().records and job.state().records[1].status == "speaking",
        what="the first turn is under way",
    )
    job.add_participant("cyd", "gated")
    job.remove_participant("bob")
    job.post("Mind the gap.")
    gate.touch()
    result = result_of(job, timeout_s=50)
    speakers = [message.speaker for message in result.dialog.messages]
    assert speakers == ["ann", None, "bob", "ann", "cyd", "ann", "cyd"]
    checked(job, result)
