"""What is new, still there, gone or suppressed, against the run before and the baseline."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review_tools.values import a_finding, a_result, a_run, an_item, findings
from symposia.models.errors import InvalidInput
from symposia.models.severity import Severity
from symposia.reviews.comparing import compare_run, with_status
from symposia.reviews.findings import baseline_of, read_baseline, with_baseline
from symposia.reviews.values.findings import Finding, FindingStatus, with_snippets
from symposia.reviews.values.runs import ItemKind, ItemState, ReviewRun, SkippedItem

UNUSED = a_finding()
KEY = a_finding(line=9, rule="S105", message="A key stands in the code", severity=Severity.HIGH)


def statuses(found: tuple[Finding, ...]) -> list[tuple[str, str | None]]:
    return [(it.rule, it.status and it.status.value) for it in found]


def test_finding_is_new_still_or_gone() -> None:
    run = compare_run(a_run(a_result(UNUSED)), previous=[KEY, UNUSED])
    assert statuses(run.findings) == [("F401", "still"), ("S105", "gone")]
    assert statuses(compare_run(a_run(a_result(UNUSED)), previous=[]).findings) == [("F401", "new")]


def test_finding_of_a_renamed_file_is_still_open() -> None:
    item = an_item("new.py", kind=ItemKind.CHANGE, renamed_from="app.py")
    run = compare_run(a_run(a_result(a_finding(path="new.py"), item=item)), previous=[UNUSED, KEY])
    assert [(it.path, it.rule, it.status) for it in run.findings] == [
        ("new.py", "F401", FindingStatus.STILL),
        ("new.py", "S105", FindingStatus.GONE),
    ]


def test_moved_finding_is_still_open() -> None:
    before = with_snippets([a_finding(line=1)], "import os\nimport sys\n")
    after = with_snippets([a_finding(line=4)], "# a\n# b\n\n    import  os\nimport sys\n")
    assert statuses(compare_run(a_run(a_result(*after)), previous=before).findings) == [("F401", "still")]


def test_same_message_on_other_code_is_another_finding() -> None:
    before = with_snippets([a_finding(line=1)], "import os\nimport os as o\n")
    after = with_snippets([a_finding(line=2)], "import os\nimport os as o\n")
    assert Counter(statuses(compare_run(a_run(a_result(*after)), previous=before).findings)) == {
        ("F401", "new"): 1,
        ("F401", "gone"): 1,
    }


def test_third_equal_finding_is_new() -> None:
    three = [a_finding(line=line) for line in (1, 5, 9)]
    run = compare_run(a_run(a_result(*three)), previous=three[:2])
    assert statuses(run.findings) == [("F401", "still"), ("F401", "still"), ("F401", "new")]


def test_gone_finding_is_reported_once() -> None:
    gone = compare_run(a_run(a_result()), previous=[KEY]).findings
    assert statuses(gone) == [("S105", "gone")]
    assert compare_run(a_run(a_result()), previous=gone).findings == ()


UNREAD = (ItemState.FAILED, ItemState.CANCELLED, ItemState.WAITING, ItemState.RUNNING)


@pytest.mark.parametrize(
    "run",
    [
        *(a_run(a_result(state=it)) for it in UNREAD),
        a_run(skipped=(SkippedItem(path="app.py", reason="is larger than 1 MB"),)),
    ],
    ids=[*UNREAD, "skipped"],
)
def test_unreviewed_files_have_no_gone_findings(run: ReviewRun) -> None:
    assert compare_run(run, previous=[KEY], is_whole=True).findings == ()


def test_findings_of_a_deleted_file_are_gone() -> None:
    run = a_run(a_result(path="other.py"))
    assert statuses(compare_run(run, previous=[KEY], is_whole=True).findings) == [("S105", "gone")]
    assert compare_run(run, previous=[KEY], is_whole=False).findings == ()


def test_only_findings_in_changed_lines_are_kept() -> None:
    item = an_item(kind=ItemKind.CHANGE, changed=((1, 3), (20, 22)))
    found = [a_finding(line=line, rule=f"R{line}") for line in (0, 2, 9, 21)]
    run = compare_run(a_run(a_result(*found, item=item)), previous=[KEY])
    assert statuses(run.findings) == [("R0", "new"), ("R2", "new"), ("S105", "gone"), ("R21", "new")]


CHANGE = an_item(kind=ItemKind.CHANGE, changed=((10, 12),))
MODEL = a_finding(line=50, rule="race", message="a race", agents=("reviewer",))


def test_model_findings_on_unchanged_lines_are_not_gone() -> None:
    change = compare_run(a_run(a_result(item=CHANGE)), previous=[MODEL], models={"reviewer"})
    assert change.findings == ()
    again = compare_run(change, previous=change.results[0].findings, models={"reviewer"})
    assert again.results[0].findings == (MODEL,), "it is carried once"
    whole = compare_run(a_run(a_result(MODEL)), previous=again.results[0].findings, models={"reviewer"})
    assert statuses(whole.findings) == [("race", "still")]


@pytest.mark.parametrize(
    ("before", "models"),
    [(MODEL, set()), (MODEL.model_copy(update={"start_line": 12}), {"reviewer"})],
    ids=["program", "changed-line"],
)
def test_findings_on_lines_that_were_read_are_gone(before: Finding, models: set[str]) -> None:
    run = compare_run(a_run(a_result(item=CHANGE)), previous=[before], models=models)
    assert statuses(run.findings) == [("race", "gone")]
    assert run.results[0].findings == ()


@pytest.mark.parametrize("state", [ItemState.DONE, ItemState.FAILED, ItemState.RUNNING])
def test_unchanged_lines_are_left_out_in_any_state(state: ItemState) -> None:
    found = [a_finding(line=line, rule=f"R{line}") for line in (11, 50)]
    run = compare_run(a_run(a_result(*found, item=CHANGE, state=state)))
    assert statuses(run.findings) == [("R11", "new")]


TEXT = "a\nb\nx = 1/0\n"


@pytest.mark.parametrize(
    ("now", "models", "expected"),
    [
        ({"message": "This divides by 0 and raises."}, {"reviewer"}, ["still"]),
        ({"rule": "arithmetic", "message": "A division by zero, here."}, {"reviewer"}, ["still"]),
        ({"rule": "style", "message": "Put blanks around the operator."}, {"reviewer"}, ["gone", "new"]),
        ({"rule": "remark", "message": "Put blanks around the operator."}, {"reviewer"}, ["gone", "new"]),
        ({"message": "This divides by 0 and raises.", "line": 2}, {"reviewer"}, ["gone", "new"]),
        ({"message": "This divides by 0 and raises."}, set(), ["gone", "new"]),
    ],
    ids=["same-rule", "similar-message", "other", "unnamed", "other-line", "program"],
)
def test_model_findings_in_other_words_are_still_there(now, models, expected) -> None:
    same = {"line": 3, "rule": "zero-division", "agents": ("reviewer",)}
    before = with_snippets([a_finding(**same, message="Division by zero.")], TEXT)
    after = with_snippets([a_finding(**same | now)], TEXT)
    run = compare_run(a_run(a_result(*after)), previous=before, models=models)
    assert sorted(it.status for it in run.findings) == expected


def test_one_earlier_finding_matches_one_in_other_words() -> None:
    same = {"line": 3, "rule": "zero-division", "agents": ("reviewer",)}
    before = with_snippets([a_finding(**same, message="Division by zero.")], TEXT)
    after = with_snippets([a_finding(**same, message=it) for it in ("It raises.", "Zero divides.")], TEXT)
    run = compare_run(a_run(a_result(*after)), previous=before, models={"reviewer"})
    assert sorted(it.status for it in run.findings) == ["new", "still"]


def test_unshown_findings_of_a_renamed_file_are_carried() -> None:
    item = CHANGE.model_copy(update={"renamed_from": "old.py"})
    run = compare_run(
        a_run(a_result(item=item)),
        previous=[MODEL.model_copy(update={"path": "old.py"})],
        models={"reviewer"},
    )
    assert (run.findings, run.results[0].findings) == ((), (MODEL,))


def test_baseline_suppresses_known_findings_only() -> None:
    baseline = read_baseline(baseline_of([KEY]))
    run = with_baseline(compare_run(a_run(a_result(UNUSED, KEY)), previous=[KEY]), baseline)
    assert statuses(run.findings) == [("F401", "new"), ("S105", "suppressed")]
    assert not run.has_finding_at_least(Severity.HIGH)
    assert run.has_finding_at_least(Severity.LOW)


def test_baseline_suppresses_only_the_counted_findings() -> None:
    baseline = read_baseline(baseline_of([UNUSED, a_finding(line=7)]))
    run = with_baseline(compare_run(a_run(a_result(*[a_finding(line=line) for line in (1, 2, 3)]))), baseline)
    assert [it.status for it in run.findings].count(FindingStatus.SUPPRESSED) == 2


def test_gone_findings_are_neither_suppressed_nor_in_a_baseline() -> None:
    run = compare_run(a_run(a_result()), previous=[KEY])
    assert statuses(with_baseline(run, read_baseline(baseline_of([KEY]))).findings) == [("S105", "gone")]
    assert json.loads(baseline_of(run.findings))["findings"] == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "baseline: must"),
        ("[]", "baseline: must be an object"),
        ('{"version": 2, "findings": []}', "baseline.version: "),
        ('{"version": 1}', "baseline.findings: is required"),
        ('{"version": 1, "findings": [{"fingerprint": "x"}]}', "baseline.findings[0].fingerprint: "),
    ],
)
def test_invalid_baseline_is_reported_with_its_place(text: str, told: str) -> None:
    with pytest.raises(InvalidInput) as error:
        read_baseline(text)
    assert str(error.value).startswith(told) or "Invalid JSON" in str(error.value)


@given(st.lists(findings(), max_size=8))
def test_run_compared_with_itself_has_no_changes(found: list[Finding]) -> None:
    told = with_status(found, previous=found, was_looked_at=lambda _: True)
    assert {it.status for it in told} <= {FindingStatus.STILL}
    assert len(told) == len(found)


@given(st.lists(findings(), max_size=8))
def test_a_baseline_of_a_run_suppresses_all_of_it(found: list[Finding]) -> None:
    run = compare_run(a_run(a_result(*found)))
    told = with_baseline(run, read_baseline(baseline_of(run.findings))).findings
    assert {it.status for it in told} <= {FindingStatus.SUPPRESSED}


@given(st.lists(findings(), max_size=8), st.lists(findings(), max_size=8))
def test_every_finding_of_both_runs_is_counted_once(now: list[Finding], before: list[Finding]) -> None:
    now, before = with_snippets(now, TEXT), with_snippets(before, TEXT)
    told = with_status(now, previous=before, was_looked_at=lambda _: True, models={"model"})
    by_status = Counter(it.status for it in told)
    assert by_status[FindingStatus.NEW] + by_status[FindingStatus.STILL] == len(now)
    assert by_status[FindingStatus.GONE] + by_status[FindingStatus.STILL] == len(before)
