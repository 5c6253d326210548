"""Scores of answers: checks, and programs with what they get, what they may print, and how they fail."""

from __future__ import annotations

import json
import sys

import pytest

from symposia.evaluation.cases import Case, Evaluation
from symposia.evaluation.scorers import Scorer
from symposia.evaluation.scoring import Answer, ProgramScorer, check_answer


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


RUN = next(
    Evaluation.read(
        {
            "name": "e",
            "session": {"title": "t", "inputs": [{"name": "size", "type": "integer"}]},
            "cases": [{"name": "door", "message": "m", "inputs": {"size": 3}, "expect": [1]}],
            "scorers": [{"contains": "a"}],
        }
    ).runs()
)


def score(folder, code, **options):
    scorer = Scorer(program=(sys.executable, "-c", code), **options)
    variables = {"PATH": "/usr/bin:/bin", "MINE": "yes", "OTHER_KEY": "secret"}
    return ProgramScorer(folder, variables.get).score(scorer, RUN, Answer("an answer", {"a": 1}))


def test_a_program_gets_the_run_and_prints_a_score(tmp_path):
    code = "import json,os,sys; d=json.load(sys.stdin); print(json.dumps(dict(score=.25, reason=json.dumps([d, os.getcwd(), sorted(os.environ)]))))"
    found = score(tmp_path, code, env=("MINE",))
    given, folder, variables = json.loads(found.reason)
    assert found.score == 0.25
    assert given == {
        "case": "door",
        "variant": "base",
        "repeat": 1,
        "session": RUN.session_id,
        "message": "m",
        "inputs": {"size": 3},
        "expect": [1],
        "answer": "an answer",
        "output": {"a": 1},
    }
    assert folder == str(tmp_path)
    assert "MINE" in variables
    assert "OTHER_KEY" not in variables


def test_a_reason_is_text_that_reports_can_contain(tmp_path):
    found = score(tmp_path, r"""print('{"score": 1, "reason": "a\\ud800"}')""")
    assert (found.score, found.reason) == (1.0, "a?")


@pytest.mark.parametrize(("printed", "score_of"), [("1", 1.0), ("0.5\n", 0.5), ('{"score": 0}', 0.0)])
def test_a_score_is_a_number_or_an_object(tmp_path, printed, score_of):
    assert score(tmp_path, f"print({printed!r})").score == score_of


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("print(2)", "must print a number from 0 to 1"),
        ("print('NaN')", "must print a number from 0 to 1"),
        ("print('true')", "must print a number from 0 to 1"),
        ("print('good')", "must print a number from 0 to 1"),
        ("pass", "must print a number from 0 to 1"),
        ("import sys; sys.exit('no model')", "failed with exit code 1: no model"),
        ("print('x' * 100_000)", "printed more than 65536 bytes"),
        ("import time; time.sleep(60)", "did not end within 0.5 s"),
    ],
)
def test_a_program_that_fails_gives_no_score(tmp_path, code, reason):
    options = {"timeout_s": 0.5} if "sleep" in code else {}
    found = score(tmp_path, code, **options)
    assert found.score is None
    assert reason in found.reason


def test_a_missing_program_gives_no_score(tmp_path):
    found = ProgramScorer(tmp_path, {"PATH": "/bin"}.get).score(
        Scorer(program=("./none.py",)), RUN, Answer("")
    )
    assert found.score is None
    assert "./none.py: No such file" in found.reason


def test_a_program_is_killed_when_the_evaluation_is_stopped(tmp_path):
    programs = ProgramScorer(tmp_path, {"PATH": "/usr/bin:/bin"}.get)
    scorer = Scorer(program=(sys.executable, "-c", "import time; time.sleep(3_000)"), timeout_s=3_600)
    programs.stopped.set()
    found = programs.score(scorer, RUN, Answer(""))
    assert (found.score, "was killed" in found.reason) == (None, True)
