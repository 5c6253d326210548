"""Fifty concurrent turns with a budget for ten never exceed it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from live import result_of
from symposia.models.sessions.stop_conditions import MaxRounds, TokenBudget

TURN, GOOD_FOR, SIDE_BY_SIDE = 100, 10, 50


def drain(installation):
    """Delivers all there is, twelve at a time, and all that comes of it."""
    with ThreadPoolExecutor(12) as pool:
        while installation.queue.waiting:
            for call in [pool.submit(installation.deliver) for _ in range(len(installation.queue.waiting))]:
                call.result()


def run(installation, seed):
    random = Random(seed)
    spends = [random.choice((TURN, TURN, TURN // 2, 1)) for _ in range(SIDE_BY_SIDE)]
    agents = {
        f"p{i}": {"agent": "spender", "parameters": {"tokens": tokens}} for i, tokens in enumerate(spends)
    }
    stop = TokenBudget(TURN * GOOD_FOR) | MaxRounds(1)
    job = installation.submit("broadcast", agents, stop=stop, limits={"turn_tokens": TURN})
    drain(installation)
    result = result_of(job)
    assert result.reason == "token_budget"
    assert result.usage.tokens <= TURN * GOOD_FOR
    assert result.usage.tokens > TURN * (GOOD_FOR - 1), "what was not spent went to others"
    assert result.turns >= GOOD_FOR
    dispatched = [event for event in job.events() if event.event_type == "MAPTurnDispatched"]
    assert len(dispatched) == result.turns, "nobody began who could not be paid"


@pytest.mark.parametrize("seed", range(2))
def test_total_spending_is_at_most_ten_turns(installation, seed):
    run(installation, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 20))
def test_many_runs_spend_at_most_ten_turns(installation, seed):
    run(installation, seed)
