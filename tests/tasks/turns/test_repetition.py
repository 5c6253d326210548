"""Sessions whose participants repeat themselves end, in every mode, and say so."""

from __future__ import annotations

import pytest

from live import result_of
from sessions.inline_installation import InlineInstallation
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns
from symposia.models.turns.items import NewItem

SAME = "We should deploy the new parser on Monday, after the sale."
REGISTRY = f"""
[agents.same]
kind = "scripted"
window = 20
replies = ["{SAME}"]

[agents.polite]
kind = "scripted"
window = 20
replies = ["{SAME}", "Thank you, Bob!", "You are welcome, Ann. Great work everyone!", "Thanks again!"]

[agents.blind]
kind = "scripted"
replies = ["{SAME}"]

[agents.lead]
kind = "scripted"
at_end = "cycle"
replies = ["NEXT: bob\\nINSTRUCTION: Look again.", "NEXT: bob\\nINSTRUCTION: Look at the rest."]
"""


@pytest.fixture
def installation(tmp_path, redis_url):
    installation = InlineInstallation(tmp_path, redis_url, REGISTRY)
    yield installation
    installation.close()


def end_of(installation, mode, agents, **how):
    """Reason, number of turns, and the turns of which the journal says that they repeat messages."""
    job = installation.submit(mode, agents, **how)
    installation.work()
    result = result_of(job)
    assert result.ok
    events = [event.data for event in job.collab().events if event.event_type == "turn.repeats"]
    return result.reason, result.turns, [data["turn_number"] for data in events]


PAIR = {"ann": "same", "bob": "same"}
TRIO = {**PAIR, "cyd": "same"}
ITEMS = [NewItem(text=f"item {number}") for number in range(6)]


@pytest.mark.parametrize(
    ("mode", "agents", "how", "end"),
    [
        ("round_robin", PAIR, {"stop": MaxRounds(9)}, ("repetition", 4, [2, 3, 4])),
        ("round_robin", TRIO, {"stop": MaxRounds(9)}, ("repetition", 4, [2, 3, 4])),
        ("round_robin", {"ann": "polite", "bob": "polite"}, {}, ("repetition", 4, [2, 3, 4])),
        (
            "round_robin",
            PAIR,
            {"stop": MaxTurns(6), "options": {"repetition": "ignore"}},
            ("max_turns", 6, []),
        ),
        ("round_robin", {"ann": "blind", "bob": "blind"}, {"stop": MaxTurns(6)}, ("max_turns", 6, [])),
        ("pair", PAIR, {"stop": MaxRounds(9)}, ("repetition", 4, [2, 3, 4])),
        ("broadcast", TRIO, {"stop": MaxRounds(9)}, ("repetition", 6, [4, 5, 6])),
        ("broadcast", TRIO, {}, ("max_rounds", 3, [])),
        ("swarm", TRIO, {"items": ITEMS}, ("board_empty", 6, [])),
        (
            "orchestrated",
            {"ann": "lead", "bob": "same"},
            {"stop": MaxTurns(60), "options": {"orchestrator": "ann", "max_stalls": 1}},
            ("stalled", 10, [4, 6, 9]),
        ),
    ],
)
def test_repetition_ends_a_session(installation, mode, agents, how, end):
    assert end_of(installation, mode, agents, **how) == end
