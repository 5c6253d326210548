"""Equal findings of several reviewers are merged; different findings and all reviewers are kept."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review_tools.values import a_finding, findings
from symposia.models.severity import Severity
from symposia.reviews.findings import merge_findings, place_key
from symposia.reviews.values.findings import Finding


def test_same_rule_on_the_same_line_is_one_finding() -> None:
    ruff = a_finding(rule="S324", message="Probable use of an insecure hash", confidence=0.9)
    bandit = a_finding(
        rule="B324", message="MD5 is weak", agents=("bandit",), severity=Severity.HIGH, confidence=1
    )
    (one,) = merge_findings([ruff, bandit])
    assert (one.rule, one.aliases, one.agents) == ("B324", ("S324",), ("bandit", "ruff"))
    assert (one.severity, one.message) == (Severity.HIGH, "MD5 is weak")


def test_similar_text_on_the_same_lines_is_one_finding() -> None:
    program = a_finding(rule="B105", message="Possible hardcoded password: 'hunter2'", agents=("bandit",))
    model = a_finding(
        rule="secret",
        message="Hardcoded password 'hunter2' possible",
        start_line=2,
        end_line=4,
        agents=("model",),
    )
    assert [it.agents for it in merge_findings([model, program])] == [("bandit", "model")]


@pytest.mark.parametrize(
    "other",
    [
        a_finding(agents=("model",), path="other.py"),
        a_finding(agents=("model",), line=4),
        a_finding(agents=("model",), rule="E501", message="Line too long (130 > 110)"),
        a_finding(agents=("ruff",), message="`sys` imported but unused"),
    ],
    ids=["another path", "another line", "another thing", "the same reviewer's other finding"],
)
def test_different_findings_are_not_merged(other: Finding) -> None:
    assert len(merge_findings([a_finding(), other])) == 2


def test_remarks_without_a_rule_are_compared_by_text() -> None:
    one = a_finding(rule="remark", message="The name says nothing")
    other = a_finding(rule="remark", message="This loop never ends", agents=("model",))
    assert len(merge_findings([one, other])) == 2


def test_findings_of_a_line_merge_with_their_match() -> None:
    mine = [a_finding(message=f"`{name}` imported but unused") for name in ("os", "sys", "re")]
    theirs = [
        a_finding(rule="unused", message=f"`{name}` imported and unused", agents=("model",))
        for name in ("re", "os", "sys")
    ]
    assert [it.agents for it in merge_findings([*theirs, *mine])] == [("model", "ruff")] * 3


def test_repeated_finding_of_a_reviewer_is_merged() -> None:
    assert merge_findings([a_finding(), a_finding()]) == (a_finding(),)


def test_suggestion_of_any_reviewer_is_kept() -> None:
    found = merge_findings(
        [a_finding(), a_finding(agents=("model",), confidence=0.2, suggestion="Delete it.")]
    )
    assert [it.suggestion for it in found] == ["Delete it."]


@pytest.mark.parametrize(
    ("ruff", "bandit"),
    [
        (
            ("S105", 'Possible hardcoded password assigned to: "password"'),
            ("B105", "Possible hardcoded password: 'hunter2'"),
        ),
        (
            ("S324", "Probable use of insecure hash functions in `hashlib`: `md5`"),
            ("B324", "Use of weak MD5 hash for security. Consider usedforsecurity=False"),
        ),
        (
            ("S307", "Use of possibly insecure function; consider using `ast.literal_eval`"),
            ("B307", "Use of possibly insecure function - consider using safer ast.literal_eval."),
        ),
    ],
)
def test_ruff_and_bandit_names_of_a_rule_are_merged(ruff: tuple[str, str], bandit: tuple[str, str]) -> None:
    others = [
        a_finding(rule="F401", message="`sys` imported but unused"),
        a_finding(rule="B006", agents=("bandit",)),
    ]
    found = merge_findings(
        [
            *others,
            a_finding(rule=ruff[0], message=ruff[1]),
            a_finding(rule=bandit[0], message=bandit[1], agents=("bandit",), confidence=0.6),
        ]
    )
    assert [it.agents for it in found if it.rule == ruff[0]] == [("bandit", "ruff")]


@given(st.lists(findings(), max_size=12), st.randoms())
def test_order_of_reviewers_does_not_matter(found: list[object], chance: random.Random) -> None:
    shuffled = list(found)
    chance.shuffle(shuffled)
    assert merge_findings(shuffled) == merge_findings(found)


@given(st.lists(findings(), max_size=12))
def test_merging_keeps_all_reviewers_and_the_severity(found: list[Finding]) -> None:
    kept = merge_findings(found)
    assert list(kept) == sorted(kept, key=place_key)
    assert len(kept) <= len(found)
    for it in found:
        holders = [
            one
            for one in kept
            if one.path == it.path
            and set(it.agents) <= set(one.agents)
            and it.rule in (one.rule, *one.aliases)
        ]
        assert any(one.severity.at_least(it.severity) for one in holders)


def test_thousand_findings_of_a_file_are_merged() -> None:
    many = [
        a_finding(
            line=0,
            rule=f"r{number}",
            message=f"thing {'abcdefghij'[number % 10]}{number} is wrong",
            agents=(agent,),
        )
        for number in range(500)
        for agent in ("one", "two")
    ]
    assert 0 < len(merge_findings(many)) <= 1_000


def _rules(*found: Finding) -> list[tuple[str, ...]]:
    return [(it.rule, *it.aliases) for it in merge_findings(found)]


def test_rules_of_one_cause_are_one_finding_with_all_sources() -> None:
    ruff = [
        a_finding(rule="S110", message="`try`-`except`-`pass` detected", start_line=5, end_line=6),
        a_finding(rule="BLE001", message="Do not catch blind exception: `Exception`", line=5),
    ]
    bandit = a_finding(rule="B110", message="Try, Except, Pass detected.", line=6, agents=("bandit",))
    for found in ([*ruff, bandit], [bandit, *reversed(ruff)]):
        (one,) = merge_findings(found)
        assert {one.rule, *one.aliases} == {"S110", "BLE001", "B110"}
        assert one.agents == ("bandit", "ruff")


def test_causes_on_adjacent_lines_stay_apart() -> None:
    both = [
        a_finding(rule=rule, message=agent, line=line, agents=(agent,))
        for line in (5, 6)
        for rule, agent in (("S110", "ruff"), ("B110", "bandit"))
    ]
    assert len(merge_findings(both)) == 2
    assert len(_rules(a_finding(rule="F401", line=1), a_finding(rule="F401", message="other", line=2))) == 2


def test_distant_lines_of_one_cause_stay_apart() -> None:
    bandit = a_finding(rule="B110", message="x", line=9, agents=("bandit",))
    assert len(_rules(a_finding(rule="BLE001", message="y", line=5), bandit)) == 2
