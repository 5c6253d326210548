"""The judge leads a panel and sums up, without a model."""

from __future__ import annotations

import json

import pytest

from symposia.models.protocol.collab import CollabMode
from symposia.models.turns.turn import Expects
from symposia.reviews.reviewers.judge import judge

FOUND = json.dumps(
    {
        "findings": [
            {"line": 3, "rule": "B602", "severity": "high", "message": "a shell"},
            {"line": 1, "rule": "F401", "severity": "medium", "message": "unused"},
        ],
        "summary": "two",
    }
)
NOTHING = json.dumps({"findings": [], "summary": "ruff found nothing to fix"})


@pytest.fixture
def lead(turn):
    def decided(number, *messages):
        context = turn(
            mode=CollabMode.ORCHESTRATED, expects=Expects.DECISION, turn_number=number, messages=messages
        )
        return judge(context)

    return decided


def summary(outcome):
    said = json.loads(outcome.messages[0].content)
    assert said["findings"] == []
    return said["summary"]


def test_judge_first_asks_everyone_in_parallel(lead, turn):
    decision = lead(1).decision
    everybody = [it.participant_id for it in turn().roster if it != turn().me]
    assert (list(decision.next), decision.side_by_side, decision.satisfied) == (everybody, True, False)


def test_judge_sums_up_the_findings_and_is_satisfied(lead, message):
    outcome = lead(4, message("bob", FOUND), message("cleo", NOTHING))
    assert outcome.decision.satisfied
    assert summary(outcome) == (
        "2 to fix: 1 high, 1 medium. Most severe: line 3: a shell. bob found 2. "
        "cleo says: ruff found nothing to fix"
    )


def test_judge_reports_that_nothing_was_found(lead, message):
    assert summary(lead(4, message("bob", NOTHING))).startswith("Nothing to fix, say bob.")


def test_judge_ends_even_if_no_one_spoke(lead):
    outcome = lead(4)
    assert (outcome.decision.satisfied, summary(outcome)) == (True, "No one had anything to say.")


def test_text_without_findings_is_quoted(lead, message):
    assert "bob says: Looks fine to me." in summary(lead(3, message("bob", "Looks fine to me.")))


@pytest.mark.parametrize(
    ("said", "approves"), [(FOUND, True), (NOTHING, True), ("I like it.", False), (FOUND[:60], False)]
)
def test_judge_of_a_pair_rejects_text_without_findings(turn, message, said, approves):
    context = turn(mode=CollabMode.PAIR, expects=Expects.REVIEW, messages=[message("bob", said)])
    assert judge(context).decision.satisfied is approves


def test_judge_of_other_modes_decides_nothing(turn, message):
    outcome = judge(turn(mode=CollabMode.ROUND_ROBIN, messages=[message("bob", FOUND)]))
    assert outcome.decision is None
    assert summary(outcome).startswith("2 to fix")
