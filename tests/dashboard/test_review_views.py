"""Queries and parts of the pages of reviews, without a server."""

from __future__ import annotations

import pytest

from review_tools.values import a_finding, a_result, a_run
from symposia.dashboard.views.review_page import (
    MAX_FINDINGS,
    group_findings,
    run_notice,
    session_search,
    tiles,
    trend_bars,
)
from symposia.dashboard.views.review_queries import FindingQuery, RunQuery
from symposia.dashboard.views.review_rows import build_review
from symposia.models.severity import Severity
from symposia.reviews.state.records import BatchView
from symposia.reviews.values.findings import FindingStatus
from symposia.reviews.values.runs import ItemState, ListedReview, RunState, TrendPoint


def listed(review_id: str, state: str = "completed", **fields) -> ListedReview:
    return ListedReview(review_id, "shop", "code", state, review_id, items={}, findings={}, **fields)


REVIEWS = [
    listed("a1", cost_micros=5, severities={"high": 1}),
    listed("b2", "partial", cost_micros=9, failure="KeyError (x.py)"),
    listed("c3", cost_micros=7, severities={"low": 3}),
]


@pytest.mark.parametrize(
    ("params", "ids"),
    [
        ({}, ["c3", "b2", "a1"]),
        ({"sort": ["cost"]}, ["a1", "c3", "b2"]),
        ({"sort": ["-findings"], "state": ["completed"]}, ["c3", "a1"]),
        ({"q": ["keyerror"]}, ["b2"]),
        ({"q": ["C3"], "panel": ["code"]}, ["c3"]),
        ({"root": ["other"]}, []),
    ],
)
def test_reviews_are_selected_and_sorted(params, ids):
    query, faults = RunQuery.read(params)
    assert [review.id for review in query.select(REVIEWS)] == ids
    assert faults == ()


def test_wrong_values_are_named_and_left_out():
    query, faults = FindingQuery.read({"severity": ["high,dire"], "page": ["0"], "group": ["agent"]})
    assert query == FindingQuery(severity=("high",))
    assert [line.partition(":")[0] for line in faults] == ["severity", "group", "page"]
    assert query.address("/r", status=("new", "still")) == "/r?severity=high&status=new%2Cstill"


def found(path: str, severity: Severity, status: FindingStatus = FindingStatus.NEW, **fields):
    return a_finding(path=path, severity=severity, status=status, **fields)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (FindingQuery(), ["b.py", "a.py"]),
        (FindingQuery(group="severity"), ["high", "low"]),
        (FindingQuery(group="rule", q="B.PY"), ["R1"]),
        (FindingQuery(status=("gone",)), ["c.py"]),
        (FindingQuery(severity=("low",)), ["a.py"]),
    ],
)
def test_groups_begin_with_the_most_severe(query, names):
    findings = (
        found("a.py", Severity.LOW, rule="R1"),
        found("b.py", Severity.HIGH, rule="R1"),
        found("c.py", Severity.CRITICAL, FindingStatus.GONE),
    )
    groups, total = group_findings(a_run().model_copy(update={"findings": findings}), query)
    assert [group.name for group in groups] == names
    assert total == sum(sum(group.counts.values()) for group in groups)


def test_many_findings_are_paged_with_ids_of_their_own():
    findings = tuple(found("a.py", Severity.LOW) for _ in range(MAX_FINDINGS + 1))
    run = a_run().model_copy(update={"findings": findings})
    (first,), total = group_findings(run, FindingQuery())
    assert (len({element for element, _ in first.findings}), total) == (MAX_FINDINGS, MAX_FINDINGS + 1)
    (second,), _ = group_findings(run, FindingQuery(page=2))
    assert len(second.findings) == 1
    assert group_findings(run, FindingQuery(page=3))[0] == []


def test_numbers_are_compared_with_the_run_before():
    findings = (found("a.py", Severity.HIGH), found("b.py", Severity.LOW, FindingStatus.GONE))
    run = a_run(ended_at=a_run().started_at).model_copy(update={"findings": findings})
    before = TrendPoint("x", "shop", "code", "", "", "completed", 0, {"high": 3, "low": 1}, 0, 0, 0)
    notes = {
        tile.link.words: (tile.link.count, tile.note)
        for tile in tiles(build_review(run, None), before, FindingQuery(), "/r")
    }
    assert notes["open findings"] == (1, "4 in the run before")
    assert (notes["high"], notes["medium"]) == ((1, "2 fewer"), (0, "as before"))
    assert (notes["low and info"], notes["gone"][0]) == ((0, "1 fewer"), 1)
    bars = trend_bars([before, before])
    assert [bar.total for bar in bars] == [4, 4]
    assert sum(part.height for part in bars[0].parts) == pytest.approx(80)


@pytest.mark.parametrize(
    ("state", "counts", "words"),
    [
        ("running", {"done": 2, "running": 1, "waiting": 1}, "2 of 4 items reviewed. 1 item being reviewed"),
        ("stopping", {"done": 1, "failed": 1}, "1 of 2 items reviewed. 1 failed. It is being stopped."),
        ("partial", {"done": 1, "failed": 1}, "1 of 2 items reviewed. 1 failed. Failed items lack"),
        ("cancelled", {"cancelled": 1}, "Cancelled. 0 of 1 item reviewed."),
        ("completed", {"unchanged": 1}, "1 of 1 item reviewed."),
    ],
)
def test_sentence_says_what_is_reviewed_and_what_failed(state, counts, words):
    fields = {one.value: counts.get(one.value, 0) for one in ItemState}
    view = BatchView(
        "b", state, sum(counts.values()), **fields, spent_tokens=0, spent_cost_micros=0,
        started_ms=0, ended_ms=None, reason="",
    )  # fmt: skip
    run = a_run(a_result(), state=state if state in set(RunState) else RunState.RUNNING)
    assert str(run_notice(build_review(run, view), view, 1)).startswith(words)


@pytest.mark.parametrize(
    ("rule", "message", "text"),
    [("B602", "m", "B602"), ("remark", 'say "x"', ""), ("remark", "plain", "plain"), ("规则", "é", "")],
)
def test_session_is_searched_for_a_text_that_json_does_not_escape(rule, message, text):
    assert session_search(a_finding(rule=rule, message=message)) == text
