"""Stop conditions in session files."""

from __future__ import annotations

import pytest

from symposia.models.errors import InvalidInput
from symposia.models.sessions.stop_conditions import (
    AllOf,
    AnyOf,
    CostBudget,
    Deadline,
    MaxRounds,
    MaxTurns,
    RoundOfPasses,
    TextSeen,
    TokenBudget,
)
from symposia.models.sessions.stop_syntax import read_stop


@pytest.mark.parametrize(
    ("data", "condition"),
    [
        ({"max_turns": 4}, MaxTurns(4)),
        ({"max_tokens": 500}, TokenBudget(500)),
        ({"max_cost_usd": 1}, CostBudget(1.0)),
        ({"deadline_s": 90}, Deadline(90.0)),
        ({"round_of_passes": True}, RoundOfPasses()),
        (
            {"text": {"text": "DONE", "by": "lead", "ignore_case": False}},
            TextSeen("DONE", "lead", ignore_case=False),
        ),
        ({"max_rounds": 3, "text": "DONE"}, MaxRounds(3) | TextSeen("DONE")),
        ({"all": [{"max_turns": 4}, {"text": "DONE"}]}, MaxTurns(4) & TextSeen("DONE")),
        (
            {"any": [{"all": [{"max_turns": 4}, {"max_rounds": 2}]}, {"text": "DONE"}]},
            AnyOf((MaxTurns(4) & MaxRounds(2), TextSeen("DONE"))),
        ),
        ({"all": [{"max_turns": 4, "text": "x"}]}, AllOf((MaxTurns(4) | TextSeen("x"),))),
        (
            (MaxTurns(3) | (TextSeen("x") & Deadline(2.5))).to_data(),
            MaxTurns(3) | (TextSeen("x") & Deadline(2.5)),
        ),
    ],
)
def test_short_forms_are_read(data, condition):
    assert read_stop(data) == condition


NOT_A_TABLE = "must be a table such as {max_rounds: 3, text: DONE}"
KEYS = "max_turns, max_rounds, max_tokens, max_cost_usd, deadline_s, text, round_of_passes, any, all"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, f"stop: {NOT_A_TABLE} (got None)"),
        ({}, f"stop: {NOT_A_TABLE} (got {{}})"),
        (5, f"stop: {NOT_A_TABLE} (got 5)"),
        (
            {"rounds": 3},
            f"stop.rounds: is not a stop condition, did you mean max_rounds?; known: {KEYS} (got 3)",
        ),
        ({"max_rounds": 0}, "stop.max_rounds: must be greater than or equal to 1 (got 0)"),
        ({"max_turns": "ten"}, "stop.max_turns: must be a valid integer (got 'ten')"),
        ({"deadline_s": float("nan")}, "stop.deadline_s: must be a finite number (got nan)"),
        ({"text": ""}, "stop.text: must have at least 1 character (got '')"),
        ({"text": 7}, "stop.text: must be text, or a table {text: ..., by: ..., ignore_case: ...} (got 7)"),
        ({"text": {"text": "a", "who": "b"}}, "stop.text.who: is not a known field (got 'b')"),
        ({"text": {"by": "b"}}, "stop.text.text: is required (got nothing)"),
        ({"round_of_passes": 3}, "stop.round_of_passes: must be true, or omitted (got 3)"),
        ({"any": {"max_turns": 1}}, "stop.any: must be a list of conditions (got a mapping of 1)"),
        (
            {"all": [{"max_turns": 1}, {"nope": 1}]},
            f"stop.all[1].nope: is not a stop condition; known: {KEYS} (got 1)",
        ),
        ({"kind": "max_turns"}, "stop.max_turns.turns: is required (got nothing)"),
    ],
)
def test_invalid_conditions_are_refused_with_the_rule(data, message):
    with pytest.raises(InvalidInput) as refused:
        read_stop(data)
    assert str(refused.value) == message


@pytest.mark.parametrize("wrap", [lambda it: {"any": [it]}, lambda it: {"kind": "any", "conditions": [it]}])
def test_endless_nesting_is_refused(wrap):
    data = {"kind": "max_turns", "turns": 1}
    for _ in range(3_000):
        data = wrap(data)
    with pytest.raises(InvalidInput):
        read_stop(data)


def test_too_many_conditions_are_refused():
    with pytest.raises(
        InvalidInput, match=r"^stop: must have at most 64 conditions \(got '65 conditions'\)$"
    ):
        read_stop({"any": [{"text": str(n)} for n in range(65)]})
