"""Scores of a run over planted defects: what counts as found, and as a false finding."""

from __future__ import annotations

from typing import Any

import pytest

from review_tools.values import a_finding, a_result, a_run
from symposia.models.errors import InvalidInput
from symposia.reviews.values.defect_set import DefectSet
from symposia.reviews.values.evaluation import Dataset, DatasetFile, place_defects
from symposia.reviews.values.findings import Category, Finding, FindingStatus
from symposia.reviews.values.scores import (
    Score,
    gaming_findings,
    perfect_findings,
    score_findings,
    score_run,
)

TEXT = "def a():\n    x = get()\n    put(x + 1)\n\n\ndef b():\n    eval(x)\n"


def dataset(**changes: Any) -> Dataset:
    race = {"kind": "race", "quote": "x = get()", "lines": 2}
    content = {
        "name": "d",
        "folder": "code",
        "kinds": {"race": ["atomic"], "eval": ["eval", "S307"]},
        "files": [
            {"path": "a.py", "set": "tuning", "defects": [race]},
            {"path": "b.py", "set": "held-back", "defects": [{"kind": "eval", "quote": "eval("}]},
            {"path": "c.py", "set": "held-back"},
        ],
    }
    return Dataset.model_validate(content | changes)


def score(
    *findings: Finding, data: Dataset | None = None, reviewed: tuple[str, ...] = ("a.py", "b.py", "c.py")
):
    data = data or dataset()
    defects = [defect for it in data.files for defect in place_defects(it, TEXT)]
    results = [a_result(path=path) for path in reviewed]
    return score_run(data, defects, a_run(*results, findings=findings))


def test_findings_on_the_lines_with_a_word_count():
    found = score(
        a_finding(path="a.py", line=3, message="Not ATOMIC."),
        a_finding(path="b.py", line=7, message="no", rule="S307"),
    )
    assert (found.total, found.missed, found.false_findings) == (Score(2, 2, 2, 2), (), ())
    assert (found.total.recall, found.total.precision) == (1.0, 1.0)


@pytest.mark.parametrize(
    "finding",
    [
        a_finding(path="a.py", line=4, message="Not atomic."),
        a_finding(path="a.py", line=0, message="Not atomic."),
        a_finding(path="a.py", line=2, message="Short name."),
        a_finding(path="c.py", line=2, message="Not atomic."),
    ],
    ids=["other-line", "whole-file", "other-problem", "clean-file"],
)
def test_other_findings_are_false(finding: Finding):
    found = score(finding)
    assert (found.total, found.false_findings) == (Score(2, 0, 1, 0), (finding,))
    assert len(found.missed) == 2


def test_repeated_findings_of_one_defect_are_false():
    twice = [a_finding(path="a.py", line=line, message="Not atomic.") for line in (2, 3)]
    found = score(*twice)
    assert found.kinds["race"] == Score(1, 1, 2, 1)
    assert found.kinds["eval"] == Score(1, 0, 0, 0)
    assert len(found.false_findings) == 1


def test_a_finding_of_many_lines_or_kinds_is_about_nothing():
    long = a_finding(path="a.py", line=2, message="Not atomic.").model_copy(update={"end_line": 7})
    assert score(long).total == Score(2, 0, 1, 0)
    kinds = {f"k{number}": [f"word{number}"] for number in range(3)} | {"race": ["atomic"], "eval": ["eval"]}
    words = a_finding(path="a.py", line=2, message="atomic word0 word1 word2")
    assert score(words, data=dataset(kinds=kinds)).total == Score(2, 0, 1, 0)


def test_category_decides_the_kind():
    data = dataset(categories={"race": ["concurrency"], "eval": ["injection"]})
    finding = a_finding(path="a.py", line=2, message="atomic")
    for category, count in ((Category.CONCURRENCY, 1), (Category.INJECTION, 0), (None, 1)):
        found = score(finding.model_copy(update={"category": category}), data=data)
        assert found.total.found == count


def test_scripted_reviewers_are_told_apart():
    data = dataset()
    defects = [defect for it in data.files for defect in place_defects(it, TEXT)]
    perfect = score_findings(data, defects, perfect_findings(data, defects))
    assert (perfect.recall, perfect.precision, perfect.f1) == (1.0, 1.0, 1.0)
    gaming = score_findings(data, defects, gaming_findings(data, {it.path: 7 for it in data.files}))
    assert gaming.f1 < 0.2


def test_seed_divides_the_files():
    files = [{"path": f"f{number}.py"} for number in range(100)]
    sets = [{it.path: it.set for it in dataset(files=files, seed=seed).files} for seed in (1, 1, 2)]
    assert sets[0] == sets[1] != sets[2]
    assert 30 < sum(it is DefectSet.TUNING for it in sets[0].values()) < 70


def test_sets_and_clean_files_have_scores_of_their_own():
    found = score(a_finding(path="a.py", line=2, message="atomic"), a_finding(path="c.py", line=1))
    assert found.sets == {DefectSet.TUNING: Score(1, 1, 1, 1), DefectSet.HELD_BACK: Score(1, 0, 1, 0)}
    assert (found.clean_findings, found.clean_files) == (1, 1)


def test_suppressed_and_gone_findings_do_not_count():
    finding = a_finding(path="a.py", line=2, message="atomic")
    closed = [
        finding.model_copy(update={"status": it}) for it in (FindingStatus.GONE, FindingStatus.SUPPRESSED)
    ]
    assert score(*closed).total == Score(2, 0, 0, 0)


def test_defects_in_unreviewed_files_are_missed():
    found = score(reviewed=("a.py",))
    assert found.unreviewed == ("b.py", "c.py")
    assert (found.total.recall, found.total.precision) == (0.0, None)


@pytest.mark.parametrize(("quote", "count"), [("nothing", 0), ("def ", 2)])
def test_quote_of_a_defect_is_on_one_line(quote: str, count: int):
    file = DatasetFile.model_validate(
        {"path": "a.py", "set": "tuning", "defects": [{"kind": "race", "quote": quote}]}
    )
    with pytest.raises(InvalidInput, match=f"exactly one line of a.py, and is on {count}"):
        list(place_defects(file, TEXT))
