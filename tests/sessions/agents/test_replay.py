"""Recorded sessions of real workers are replayed without a request, in each mode."""

from __future__ import annotations

import pytest

from live import result_of
from servers.model_stub import completion
from symposia.models.sessions.options import ModeOptions
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns

#: On a machine with much else to do.
pytestmark = pytest.mark.timeout(240)

MODES = {
    "round_robin": (("One.", "Two.", "Three."), {"stop": MaxTurns(3)}),
    "pair": (("A draft.", "Shorten it.", "A short draft.", "APPROVED: good"), {"stop": MaxRounds(3)}),
    "orchestrated": (
        ("NEXT: bob\nINSTRUCTION bob: count", "One, two.", "NEXT: cid", "Three.", "DONE: all counted"),
        {"options": ModeOptions(orchestrator="ann")},
    ),
    "broadcast": (("Yes.", "No."), {"options": ModeOptions(aggregator="cid"), "stop": MaxRounds(2)}),
    "swarm": (("ITEM: check it", "Checked."), {"stop": MaxTurns(6)}),
}


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
def test_replay_sends_no_request(shared, shared_model, mode):
    answers, how = MODES[mode]
    shared_model.answers(*map(completion, answers))
    agents = dict.fromkeys(("ann", "bob", "cid")[: 2 if mode == "pair" else 3], "texting")
    job = shared.submit(mode, agents, record=True, **how)
    result = result_of(job, timeout_s=90)
    asked = len(shared_model.asked)
    replayed = shared.client.replay(job.id)
    assert (result.ok, len(shared_model.asked)) == (True, asked)
    assert (replayed.turns, replayed.requests, replayed.taken) == (result.turns, asked, ())
    assert replayed.plan_compared
    assert len(replayed.run_again) == result.turns > 1
