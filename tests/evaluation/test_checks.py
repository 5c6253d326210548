"""Checks of answers."""

from __future__ import annotations

import pytest

from symposia.evaluation.cases import Case
from symposia.evaluation.checks import Answer, check_answer
from symposia.evaluation.scorers import Scorer


@pytest.mark.parametrize(
    ("scorer", "expect", "answer", "score"),
    [
        ({"contains": "door"}, None, Answer("a door"), 1),
        ({"contains": "{expect}!"}, "door", Answer("a door!"), 1),
        ({"contains": "{expect}"}, "Door", Answer("a door"), 0),
        ({"regex": "^a"}, None, Answer("a door"), 1),
        ({"regex": "^door"}, None, Answer("a door"), 0),
        ({"equals": "{expect}"}, "a door", Answer(" a door\n"), 1),
        ({"equals": "{expect}"}, "3", Answer("3"), 1),
        ({"equals": 3}, None, Answer("3.0"), 1),
        ({"equals": True}, None, Answer("1"), 0),
        ({"equals": None}, None, Answer("null"), 1),
        ({"equals": {"a": [1, 2]}}, None, Answer("", {"a": [1, 2]}), 1),
        ({"equals": {"a": [2, 1]}}, None, Answer("", {"a": [1, 2]}), 0),
        ({"equals": True, "field": "verdict.ok"}, None, Answer("", {"verdict": {"ok": True}}), 1),
        ({"equals": 5, "field": "list.1"}, None, Answer('{"list": [4, 5]}'), 1),
        ({"contains": "x", "field": "list.7"}, None, Answer('{"list": [4, 5]}'), 0),
        ({"regex": "^4", "field": "list.0"}, None, Answer('{"list": [45]}'), 1),
        ({"equals": 1, "field": "a"}, None, Answer("no data"), 0),
    ],
)
def test_an_answer_passes_or_fails(scorer, expect, answer, score):
    found = check_answer(Scorer(**scorer), Case(message="m", expect=expect), answer)
    assert found.score == score
    assert bool(found.reason) == (not score)
